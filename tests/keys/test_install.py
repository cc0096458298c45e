"""Taking keys and giving them back: whatever was bound before is there again, byte for byte."""

import json
import os
import stat
import subprocess

import pytest


def test_install_and_uninstall_leave_the_server_as_it_was(hostile):
    """All bindings, their notes and every option are the same before and after."""
    before, options = hostile.bindings(), hostile.options()

    done = hostile.json("keys", "install", "--prefix", "F")
    during = hostile.bindings()
    again = hostile.json("keys", "uninstall")

    assert before != during
    assert "F" == done["prefix"]
    assert sorted(done["taken"]) == sorted(again["given_back"])
    assert 2 == len(done["taken"])  # the user's F, and the n of the user's own table of that name
    assert before == hostile.bindings()
    assert options == hostile.options()
    assert "nothing to give back\n" == hostile.fleet("keys", "uninstall")


def test_options_are_not_touched_while_the_keys_are_there(hostile):
    """Installing changes no option of the server, of a session or of a window."""
    options = hostile.options()
    hostile.fleet("keys", "install")

    assert options == hostile.options()


def test_a_bound_key_is_taken_only_when_it_is_named(hostile):
    """F and g are the user's here, so the next of the candidates is taken."""
    assert "u" == hostile.json("keys", "install")["prefix"]


def test_installing_twice_is_installing_once(hostile):
    """The second time finds its own keys and keeps what the user had."""
    before = hostile.bindings()
    first = hostile.json("keys", "install", "--prefix", "F")
    during = hostile.bindings()

    second = hostile.json("keys", "install")

    assert (first, during) == (second, hostile.bindings())
    hostile.fleet("keys", "uninstall")
    assert before == hostile.bindings()


@pytest.mark.parametrize("key", ["C-f", "M-f", "Space", ";", "?", '"', "#", "'", "m", "F5", "\\", "~", "-", "é"])
def test_any_key_can_be_named(key):
    """Also those that mean something to a shell or to tmux, and those that are bound."""
    from tests.keys.conftest import Desk

    desk = Desk()
    try:
        before = desk.bindings()
        desk.json("keys", "install", f"--prefix={key}")
        printed = [
            line
            for line in desk.tmux("list-keys", "-T", "prefix").splitlines()
            if line.endswith("switch-client -T fleet")
        ]
        assert 1 == len(printed)
        desk.fleet("keys", "uninstall")
        assert before == desk.bindings()
    finally:
        desk.close()


def test_moving_to_another_key_gives_the_first_back(hostile):
    """One key at a time."""
    before = hostile.bindings()
    hostile.fleet("keys", "install", "--prefix", "F")

    hostile.fleet("keys", "install", "--prefix", "g")

    assert "mine;" in hostile.tmux("list-keys", "-T", "prefix", "F")
    assert "switch-client -T fleet" in hostile.tmux("list-keys", "-T", "prefix", "g")
    hostile.fleet("keys", "uninstall")
    assert before == hostile.bindings()


def test_what_could_not_be_given_back_is_not_taken(desk):
    """tmux prints `send-keys -- -x` without its `--`, and would refuse that."""
    desk.tmux("bind-key", "G", "send-keys", "--", "-x")
    before = desk.bindings()

    done = desk.run("keys", "install", "--prefix", "G")

    assert 1 == done.returncode
    assert b"could not give back" in done.stderr
    assert before == desk.bindings()
    assert not list(desk.fleet_home.rglob("run/keys/*"))

    desk.tmux("bind-key", "-T", "fleet", "p", "send-keys", "--", "-x")
    said = desk.run("keys", "install").stderr.decode()
    assert "`tmux unbind-key -T fleet p` first" in said, "another prefix would not help"


def test_a_key_that_was_bound_anew_meanwhile_is_the_users(desk):
    """Uninstall leaves it alone."""
    desk.fleet("keys", "install")
    desk.tmux("bind-key", "F", "display-message", "mine now")
    desk.tmux("bind-key", "-T", "fleet", "s", "display-message", "mine too")

    desk.fleet("keys", "uninstall")

    assert "mine now" in desk.tmux("list-keys", "-T", "prefix", "F")
    assert ["mine too"] == [
        line.partition("display-message ")[2].strip('"') for line in desk.tmux("list-keys", "-T", "fleet").splitlines()
    ]


def test_a_server_that_restarted_meanwhile_has_nothing_of_ours(desk):
    """The journal of a server that is gone gives nothing back to another on the same socket."""
    desk.tmux("bind-key", "F", "display-message", "old server")
    desk.fleet("keys", "install", "--prefix", "F")
    desk.tmux("kill-server")
    desk.until(lambda: not desk.tmux("list-sessions"), "the server is gone")
    desk.boot()
    before = desk.bindings()

    assert "nothing to give back\n" == desk.fleet("keys", "uninstall")
    assert before == desk.bindings()

    desk.fleet("keys", "install", "--prefix", "F")
    desk.fleet("keys", "uninstall")
    assert before == desk.bindings()


def test_two_servers_have_a_journal_each(desk):
    """Inside tmux, the server one is in is meant; giving back on one leaves the other's keys."""
    other = str(desk.root / "o")
    subprocess.run([desk.binary, "-S", other, "-f", "/dev/null", "new-session", "-d", "cat"], env=desk.env, check=True)
    try:
        desk.fleet("keys", "install")
        desk.env["TMUX"] = f"{other},1,0"
        assert other == desk.json("keys", "install")["socket"]
        desk.fleet("keys", "uninstall")
        del desk.env["TMUX"]
        assert "fleet" in desk.tmux("list-keys", "-T", "prefix", "F")
        found = subprocess.run([desk.binary, "-S", other, "list-keys", "-T", "prefix", "F"], capture_output=True)
        assert b"" == found.stdout
    finally:
        subprocess.run([desk.binary, "-S", other, "kill-server"], capture_output=True)


def test_another_fleet_home_is_refused(desk):
    """Two homes cannot have one table; nothing of the first is touched."""
    desk.fleet("keys", "install")
    before = desk.bindings()
    desk.env["FLEET_HOME"] = str(desk.root / "other")

    for action in ("install", "uninstall"):
        done = desk.run("keys", action)
        assert (1, True) == (done.returncode, b"another fleet home" in done.stderr)
    assert before == desk.bindings()


def test_a_lost_journal_still_lets_go(desk):
    """Without it what is ours is known by its command, and the line in tmux.conf by its mark."""
    before = desk.bindings()
    conf = desk.home / ".tmux.conf"
    desk.fleet("keys", "install", "--persist")
    for path in desk.fleet_home.glob("run/keys/*.json"):
        path.unlink()

    desk.fleet("keys", "uninstall")

    assert before == desk.bindings()
    assert not conf.exists()


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"",
        b"set -g mouse on\n",
        b"set -g mouse on",
        b"set -g status-left 'a \\\n",
        b"# caf\xe9\r\nset -g mouse on\r\n",
        b"x \\",
    ],
)
def test_the_line_in_tmux_conf_comes_and_goes(text):
    """The file is the same again, byte for byte, through a link and with its mode."""
    from tests.keys.conftest import Desk

    desk = Desk()
    try:
        real, conf = desk.root / "dotfiles-tmux.conf", desk.home / ".tmux.conf"
        if text is not None:
            real.write_bytes(text)
            real.chmod(0o640)
            conf.symlink_to(real)
        desk.fleet("keys", "install", "--persist")
        once = conf.read_bytes()
        desk.fleet("keys", "install", "--persist")

        assert once == conf.read_bytes()
        assert 1 == once.count(b"# fleet-keys")
        if text is not None:
            assert conf.is_symlink()
            assert 0o640 == stat.S_IMODE(os.stat(real).st_mode)
        desk.fleet("keys", "uninstall")
        assert text == (conf.read_bytes() if conf.exists() else None)
    finally:
        desk.close()


def test_a_persisted_key_is_there_after_a_restart(hostile):
    """tmux reads the line at its start, with an option that it does not know before it; uninstall ends that."""
    text, modes = hostile.conf.read_bytes(), hostile.modes()  # tmux shows what it found wrong in the configuration
    hostile.fleet("keys", "install", "--prefix", "F", "--conf", str(hostile.conf))
    hostile.tmux("kill-server")
    hostile.until(lambda: not hostile.tmux("list-sessions"), "the server is gone")
    hostile.boot()

    hostile.until(
        lambda: "switch-client -T fleet" in hostile.tmux("list-keys", "-T", "prefix", "F"), "the key is there"
    )
    assert modes == hostile.modes()
    hostile.fleet("keys", "uninstall")

    assert "mine;" in hostile.tmux("list-keys", "-T", "prefix", "F")
    assert text == hostile.conf.read_bytes()


def test_without_a_server_only_the_line_is_written(desk):
    """`--persist` before tmux runs works at its next start; without it there is nothing to do."""
    desk.tmux("kill-server")
    desk.until(lambda: not desk.tmux("list-sessions"), "the server is gone")

    assert b"no tmux server" in desk.run("keys", "install").stderr
    done = desk.json("keys", "install", "--conf", str(desk.conf))

    assert (False, True) == (done["server"], done["conf_changed"])
    desk.boot()
    desk.until(lambda: "switch-client -T fleet" in desk.tmux("list-keys", "-T", "prefix", "F"), "the key is there")


def test_a_conf_that_cannot_be_written_is_said(desk):
    """A folder, or a file in a folder that is not there."""
    for path in (str(desk.root), str(desk.root / "no" / "tmux.conf"), ""):
        done = desk.run("keys", "install", "--conf", path)
        assert (2, True) == (done.returncode, b"--conf" in done.stderr)
    assert "" == desk.tmux("list-keys", "-T", "prefix", "F")


def test_what_print_shows_can_be_sourced(desk):
    """It is what install binds, as a tmux configuration, with the line for the status."""
    text = desk.fleet("keys", "print")
    printed = desk.root / "printed.conf"
    printed.write_text(text)
    desk.fleet("keys", "install")
    installed = desk.bindings()
    desk.fleet("keys", "uninstall")

    desk.tmux("source-file", str(printed))

    assert installed == desk.bindings()
    assert "tmux_segment.py" in desk.tmux("show-options", "-gv", "status-right")
    assert text == desk.fleet("keys", "print")


@pytest.mark.parametrize("words", [
    ["--prefix", ""], ["--prefix", "Nokey"], ["--prefix", "F g"], ["--prefix"], ["--persist", "--conf", "x"], ["more"],
    ["--prefix", "\n"], ["--no-such"],
])  # fmt: skip
def test_wrong_words_change_nothing(desk, words):
    """Each is one line and status 2."""
    before = desk.bindings()
    for action in ("install", "uninstall", "print"):
        done = desk.run("keys", action, *words)
        if (action, words) == ("print", ["--prefix", "Nokey"]):
            continue
        assert 2 == done.returncode, (action, words, done)
        assert done.stderr.startswith(b"fleet: ")
    assert before == desk.bindings()
    assert not list(desk.fleet_home.rglob("run/keys/*"))


def test_the_journal_says_what_it_is(desk):
    """Its shape on disk."""
    desk.tmux("bind-key", "-N", "a note", "F", "display-message", "x")
    desk.fleet("keys", "install", "--prefix", "F")

    (path,) = desk.fleet_home.glob("run/keys/*.json")
    data = json.loads(path.read_text())

    assert (1, "F", True, None) == (data["schema_version"], data["prefix"], data["named"], data["conf"])
    (one,) = data["before"]
    assert ("prefix", "F", "a note") == (one["table"], one["key"], one["note"])
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
