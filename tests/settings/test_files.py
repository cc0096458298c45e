"""The user's settings file on disk: nobody's work is lost, whoever writes at the same time and whenever fleet is killed."""

import json
import os
import stat
import subprocess
import sys

import pytest

from fleet.errors import Refused
from fleet.settings import files
from fleet.settings.install import diff, install, uninstall
from tests.settings.entries import ENGINE, wanted

ORIGINAL = b'{\n    "model": "opus",\n    "hooks": {"Stop": []}\n}'


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "claude"
    folder.mkdir()
    file = folder / "settings.json"
    file.write_bytes(ORIGINAL)
    return file


def names(path):
    return sorted(os.listdir(path.parent))


@pytest.mark.parametrize(
    "original", [ORIGINAL, b"", b" \n", b"{}", b"{ }", "\ufeff{}\r\n".encode(), b'{"hooks": { } }', None]
)
def test_uninstalling_restores_byte_for_byte(path, original):
    """When nothing else was changed, also of a file that was not there; no backup is left behind."""
    if original is None:
        path.unlink()
    else:
        path.write_bytes(original)
    before = names(path)

    done = install(str(path), wanted())
    assert done.changed and "on_event.py" in path.read_text("utf-8")
    assert uninstall(str(path), ENGINE).changed

    assert before == names(path)
    assert original is None or original == path.read_bytes()


def test_the_way_back_survives_moves(path):
    """An installation that moved twice still goes back to what was there before the first."""
    for place in ("/one", "/two", "/three"):
        install(str(path), wanted(place))
    assert not install(str(path), wanted("/three")).changed

    uninstall(str(path), ENGINE)

    assert ORIGINAL == path.read_bytes()


def test_what_the_user_changed_meanwhile_stays(path):
    """Only ours goes; a backup of the time before stays beside the file, and never more than a few."""
    for number in range(6):
        install(str(path), wanted())
        data = json.loads(path.read_text())
        data["mine"] = number
        path.write_text(json.dumps(data))
        uninstall(str(path), ENGINE)
        assert {"model": "opus", "mine": number} == json.loads(path.read_text())

    assert 1 <= len([n for n in names(path) if "fleet-before" in n]) <= files.MAX_BACKUPS


def test_an_edited_installation_is_never_undone_to_an_old_one(path):
    """Installed, edited by the user, moved: what was there before the move holds entries of ours and is no way back."""
    install(str(path), wanted("/one"))
    path.write_bytes(path.read_bytes().replace(b"opus", b"sonnet"))
    install(str(path), wanted("/two"))

    uninstall(str(path), ENGINE)

    assert {"model": "sonnet"} == json.loads(path.read_text())


def test_a_dry_run_changes_nothing_and_shows_everything(path):
    """Neither the file nor its folder; the diff is unified."""
    change = install(str(path), wanted(), dry_run=True)

    assert (["settings.json"], ORIGINAL) == (names(path), path.read_bytes())
    text = diff(change)
    assert text.startswith(f"--- {path}\n+++ {path}\n@@ ")
    assert all(line[:1] in "-+ @\\" for line in text.splitlines())
    patched = subprocess.run(["patch", "-s", "-o", "-", str(path)], input=text.encode(), capture_output=True)
    assert patched.returncode or patched.stdout == change.after


def test_a_symlink_stays_one_and_its_file_keeps_mode_and_place(path, tmp_path):
    """The file behind it is changed, with its mode."""
    home = tmp_path / "dotfiles"
    home.mkdir()
    real = home / "claude.json"
    os.rename(path, real)
    real.chmod(0o640)
    path.symlink_to(real)

    install(str(path), wanted())

    assert path.is_symlink() and "on_event.py" in real.read_text()
    assert 0o640 == stat.S_IMODE(real.stat().st_mode)
    assert {0o640} == {stat.S_IMODE(p.stat().st_mode) for p in home.iterdir()}
    assert ["settings.json"] == names(path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a file away")
def test_the_owner_stays(path):
    """A file of somebody else's stays theirs."""
    os.chown(path, 1234, 4321)

    install(str(path), wanted())

    assert (1234, 4321) == (path.stat().st_uid, path.stat().st_gid)


@pytest.mark.parametrize("what", ["broken", "utf16", "latin1", "folder", "hard link", "fifo", "large", "dangling"])
def test_what_cannot_be_changed_safely_is_left_alone(path, what):
    """With file and reason; nothing is made beside it."""
    if what == "broken":
        path.write_bytes(b'{\n  "a": 1,\n}')
    elif what == "utf16":
        path.write_bytes("{}".encode("utf-16"))
    elif what == "latin1":
        path.write_bytes(b'{"a":\n"\xe9"}')
    elif what == "large":
        path.write_bytes(b" " * (files.MAX_BYTES + 1) + b"{}")
    elif what == "hard link":
        os.link(path, path.parent / "other")
    else:
        path.unlink()
        if what == "folder":
            path.mkdir()
        elif what == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(path.parent / "nowhere" / "x.json")
    before = names(path), None if what in ("folder", "fifo", "dangling") else path.read_bytes()

    with pytest.raises(Refused) as found:
        install(str(path), wanted())

    assert before == (names(path), None if before[1] is None else path.read_bytes())
    assert {"broken": f"{path}:3:1: a comma after", "latin1": f"{path}:2: it is not UTF-8"}.get(
        what, str(path.parent)
    ) in str(found.value)


def test_a_change_of_somebody_elses_is_never_overwritten(path, monkeypatch):
    """What another program writes between our read and our replace is read again and kept."""
    real, writes = files.SettingsFile.put, iter([b'{"theirs": 1}', b'{"theirs": 2}'])

    def put(self, before, after):
        new = next(writes, None)
        if new is not None:
            path.write_bytes(new)
        return real(self, before, after)

    monkeypatch.setattr(files.SettingsFile, "put", put)
    install(str(path), wanted())

    data = json.loads(path.read_text())
    assert 2 == data["theirs"] and {"Stop", "PreCompact"} == set(data["hooks"])


def test_a_file_that_never_rests_is_given_up(path, monkeypatch):
    """After a few tries, untouched, with the reason."""
    monkeypatch.setattr(files.SettingsFile, "put", lambda *_: False)

    with pytest.raises(Refused, match="by another program 5 times"):
        install(str(path), wanted())
    assert ORIGINAL == path.read_bytes()


KILLER = """
import os, sys
left = int(sys.argv[1])
def at(real):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return real(*args, **kwargs)
    return call
from fleet.settings import install
import tests.settings.entries as t
for name in ("open", "replace", "unlink", "fsync", "fchmod", "fdopen"):
    setattr(os, name, at(getattr(os, name)))
if sys.argv[3] == "install":
    install.install(sys.argv[2], t.wanted())
else:
    install.uninstall(sys.argv[2], t.ENGINE)
"""


@pytest.mark.parametrize("original", [ORIGINAL, None], ids=["a file", "no file"])
@pytest.mark.parametrize("step", ["install", "uninstall"])
def test_a_kill_leaves_the_old_or_the_new_file_and_a_rerun_finishes(path, step, original):
    """kill -9 before each single effect; then run again; then the way back is still there."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    def prepare():
        for name in names(path):
            os.unlink(path.parent / name)
        if original is not None:
            path.write_bytes(original)
        if step == "uninstall":
            install(str(path), wanted())

    def content():
        return path.read_bytes() if path.exists() else None

    prepare()
    old = content()
    (install(str(path), wanted()) if step == "install" else uninstall(str(path), ENGINE))
    new = content()
    for effects in range(60):
        prepare()
        done = subprocess.run(
            [sys.executable, "-c", KILLER, str(effects), str(path), step], cwd=root, capture_output=True
        )
        assert done.returncode in (0, -9), done.stderr.decode()
        assert content() in (old, new)
        (install(str(path), wanted()) if step == "install" else uninstall(str(path), ENGINE))
        assert new == content()
        assert not [n for n in names(path) if n.endswith("fleet-new")]
        uninstall(str(path), ENGINE)
        assert original == content()
        if done.returncode == 0:
            assert effects > 4
            return
    raise AssertionError("it never came to its end")


def test_nothing_to_uninstall(path):
    """Neither where there are no entries of ours nor where there is no file, or no folder."""
    assert not uninstall(str(path), ENGINE).changed
    assert not uninstall(str(path.parent / "none.json"), ENGINE).changed
    assert not uninstall(str(path.parent / "no" / "none.json"), ENGINE).changed
    assert (["settings.json"], ORIGINAL) == (names(path), path.read_bytes())


def test_runs_at_the_same_time_wait_for_each_other(path):
    """Ten installs at once: each event once, no litter."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = "import sys, tests.settings.entries as t; from fleet.settings.install import install; install(sys.argv[1], t.wanted(sys.argv[2]))"
    runs = [subprocess.Popen([sys.executable, "-c", code, str(path), f"/place{i}"], cwd=root) for i in range(6)]
    assert [0] * 6 == [run.wait() for run in runs]

    hooks = json.loads(path.read_text())["hooks"]
    assert [1, 1] == [len(hooks[e]) for e in ("Stop", "PreCompact")]
    uninstall(str(path), ENGINE)
    assert ORIGINAL == path.read_bytes()
