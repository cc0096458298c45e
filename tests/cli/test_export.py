"""`fleet export` and `fleet import`: an agent's whole history goes out without secrets, and comes in without trust."""

import gzip
import hashlib
import io
import json
import os
import tarfile

import jsonschema
import pytest

from tests.cli.conftest import picture
from tests.house.test_house import SCHEMAS, registry

SECRET, TOKEN = "verysecretvalue99", "ghp_" + "a1" * 18


def check(name, value):
    schema = json.loads(next(p for p in SCHEMAS if p.stem == name).read_text())
    jsonschema.Draft202012Validator(schema, registry=registry()).validate(value)


def read(path):
    """Names and bytes of an archive, in its order."""
    with tarfile.open(path) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar}


@pytest.fixture
def lived(world):
    """An agent of two generations with a secret in its environment and its prompt."""
    world.env |= {"MY_API_TOKEN": SECRET, "HARMLESS": "greeting-of-the-environment"}
    world.rules({"match": "Read the handoff", "do": "STUB: say=resumed\nSTUB: usage=9000"})
    world.dispatch("life", f"use {TOKEN} and {SECRET} Ünïcode\nSTUB: say=ok\nSTUB: usage=30000")
    world.fleet("send", "life", "hello there", "--wait", "20")
    world.fleet("handoff", "life")
    world.dispatch("other", "x\nSTUB: say=ok")
    return world


def test_the_whole_life_goes_out_redacted_and_can_be_looked_at_elsewhere(lived, tmp_path):
    """Every generation with all of its files; manifest, hashes, order; no secret, no environment value; nothing of
    others; and the import answers show, events, peek, list and logs as they were, and refuses everything else."""
    before = lived.json("show", "life")
    archive = lived.root / "x.tar.gz"

    done = lived.json("export", "life", "--to", str(archive))
    check("export", done)
    files = read(archive)
    manifest = json.loads(files.pop("manifest.json"))
    check("export-manifest", manifest)
    other = lived.agent("other")["id"]

    assert 0o600 == archive.stat().st_mode & 0o777
    assert sorted(files) == list(files) == [f["path"] for f in manifest["files"]]
    assert all(hashlib.sha256(files[f["path"]]).hexdigest() == f["sha256"] for f in manifest["files"])
    assert 2 == len(done["agents"])
    for agent_id in done["agents"]:
        for kind in ("agents", "events", "screens", "show", "transcripts"):
            assert any(kind in name and agent_id in name for name in files), (kind, agent_id)
    for part in ("home/handoffs/", "home/inbox/", "home/launch/", "home/tasks/", "home/logs/", "export/versions.json"):
        assert any(name.startswith(part) for name in files), part
    everything = b"".join(files.values())
    assert SECRET.encode() not in everything
    assert TOKEN.encode() not in everything
    assert b"greeting-of-the-environment" not in everything
    assert b'"HARMLESS"' in everything
    assert "Ünïcode".encode() in everything
    assert b"hello there" in everything
    assert not any(other in name for name in files)
    assert {"github", "environment"} <= manifest["redactions"].keys()

    imported = lived.json("import", str(archive))
    check("import", imported)
    again = lived.json("import", str(archive))
    assert imported["path"] != again["path"]

    lived.env["FLEET_HOME"] = imported["path"]
    try:
        shown = lived.json("show", "life")
        check("agent", shown)
        check("list", lived.json("list"))
        assert (before["id"], before["state"]) == (shown["id"], shown["state"])
        assert "export" == shown["state_source"]
        assert before["id"] == lived.json("list")[0]["id"]
        assert lived.json("events", "life")
        assert lived.json("peek", "life")["lines"]
        assert lived.fleet("logs")
        held = picture(imported["path"])
        for argv in (("drain", "--once"), ("send", "life", "x"), ("stop", "life"), ("handoff", "life"), ("queue", "list"),
                     ("dispatch", "t", "--engine", "fake"), ("export", "life"), ("attach", "life"), ("init",)):  # fmt: skip
            refused = lived.run(*argv)
            assert (1, True) == (refused.returncode, b"nothing is done in it" in refused.stderr), argv
        assert held == picture(imported["path"])
    finally:
        lived.env["FLEET_HOME"] = str(lived.fleet_home)
    assert before["id"] == lived.agent("life")["id"]


def test_what_is_left_out_and_what_is_not(lived):
    """--no-transcript has no transcript; --no-redact keeps the prompt's secrets, and no environment value even so."""
    one, two = lived.root / "1.tar.gz", lived.root / "2.tar.gz"

    lived.fleet("export", "life", "--to", str(one), "--no-transcript")
    said = lived.run("export", "life", "--to", str(two), "--no-redact").stderr

    assert not any("transcripts" in name for name in read(one))
    everything = b"".join(read(two).values())
    assert TOKEN.encode() in everything
    assert SECRET.encode() not in everything
    assert b"NOT redacted" in said


def test_links_are_not_followed_and_what_cannot_be_read_is_listed(lived):
    """A link out of the home, in place of a file or a folder, and a pipe: named in the manifest, never read."""
    outside = lived.root / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text("OUTSIDE")
    agent = lived.agent("life")["id"]
    os.symlink(outside / "secret.json", lived.fleet_home / "drafts" / f"{agent}.md")
    os.rename(lived.fleet_home / "inbox" / "archive", lived.root / "kept")
    os.symlink(outside, lived.fleet_home / "inbox" / agent)
    os.mkfifo(lived.fleet_home / "handoffs" / f"{agent}-x.md")

    done = lived.json("export", "life", "--to", str(lived.root / "x.tar.gz"))

    assert b"OUTSIDE" not in b"".join(read(lived.root / "x.tar.gz").values())
    missed = {one["path"] for one in done["unread"]}
    assert {f"drafts/{agent}.md", f"handoffs/{agent}-x.md"} <= missed


def test_a_file_that_vanishes_meanwhile_is_listed(lived, monkeypatch):
    """Between the look and the read: no failure."""
    from fleet.app import Fleet
    from fleet.operate import exporting

    fleet = Fleet(lived.env)
    agent = fleet.agents.find("life")
    export = exporting.Export(fleet, redacted=True, transcripts=False)
    export.agents = [agent.id]
    path = str(lived.fleet_home / "drafts" / f"{agent.id}.md")

    export._file(path)

    assert [{"path": f"drafts/{agent.id}.md", "reason": "it vanished meanwhile"}] == export.unread


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (("export",), 2, "AGENT"),
        (("export", "nobody"), 4, "nobody"),
        (("export", "x", "--to"), 2, "--to"),
        (("export", "x", "--loud"), 2, "--loud"),
        (("import",), 2, "FILE"),
        (("import", "/no/such"), 2, "cannot read"),
        (("import", "/"), 2, "cannot read"),
        (("import", "x", "--into"), 2, "--into"),
    ],
)
def test_wrong_input(bare, argv, code, word):
    """One line that names it, and nothing is made."""
    found, _, err = bare(*argv)

    assert (code, True) == (found, word in err), err
    assert len(err.splitlines()) <= 2
    assert {} == picture(bare.home)


def test_an_export_goes_over_nothing(lived):
    """A file of that name, or a folder that is not there: refused, and the file is what it was."""
    path = lived.root / "mine"
    path.write_text("mine")

    assert 1 == lived.run("export", "life", "--to", str(path)).returncode
    assert 2 == lived.run("export", "life", "--to", str(lived.root / "no" / "x")).returncode
    assert "mine" == path.read_text()
    assert not [n for n in os.listdir(lived.root) if n.endswith(".tmp")]


RECORD = json.dumps({"schema_version": 1, "id": "a1b2c3d4", "task_id": "t", "dispatch_id": "0f1e2d3c"}).encode()
GOOD = {"home/agents/a1b2c3d4.json": RECORD, "export/show/a1b2c3d4.json": b"{}"}


def manifest(content, **changes):
    return {
        "schema_version": 1, "kind": "fleet-export", "exported_at": "2026-11-30T13:00:00Z", "dispatch_id": "0f1e2d3c",
        "task_id": "t", "project": "default", "agents": ["a1b2c3d4"], "redacted": True, "redactions": {}, "notes": [],
        "unread": [], "files": [{"path": p, "bytes": len(d), "sha256": hashlib.sha256(d).hexdigest(), "redactions": {}}
                                for p, d in content.items()], **changes}  # fmt: skip


def build(path, head, members):
    with tarfile.open(path, "w:gz") as tar:
        data = head if isinstance(head, bytes) else json.dumps(head).encode()
        for name, content in [("manifest.json", data), *members]:
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def evil(name):
    """A manifest and members of one kind of attack, and a word of the refusal."""
    some = list(GOOD.items())
    bad = {**GOOD, "home/agents/../../escape.json": b"x"}
    cases = {
        "traversal": (manifest(bad), list(bad.items()), "no name of a file"),
        "absolute": (manifest({"/tmp/fleet-escape": b"x"}), [("/tmp/fleet-escape", b"x")], "no name of a file"),
        "configuration": (manifest({"home/config.yaml": b"x"}), [("home/config.yaml", b"x")], "no name of a file"),
        "marker": (manifest({"home/inspection.json": b"x"}), [("home/inspection.json", b"x")], "no name of a file"),
        "hidden": (manifest({"home/agents/.": b"x"}), [("home/agents/.", b"x")], "no name of a file"),
        "symlink": (manifest(GOOD), [*some, ("l", special("home/agents/l", tarfile.SYMTYPE, "/etc"))], "no plain file"),
        "hard link": (manifest(GOOD), [*some, ("l", special("home/agents/l", tarfile.LNKTYPE, "/etc/passwd"))], "no plain"),
        "device": (manifest(GOOD), [*some, ("l", special("home/agents/l", tarfile.CHRTYPE))], "no plain file"),
        "pipe": (manifest(GOOD), [*some, ("l", special("home/agents/l", tarfile.FIFOTYPE))], "no plain file"),
        "folder": (manifest(GOOD), [*some, ("l", special("home/agents/l", tarfile.DIRTYPE))], "no plain file"),
        "changed": (manifest(GOOD), [(some[0][0], RECORD + b" "), some[1]], "not what its manifest says"),
        "missing": (manifest(GOOD), some[:1], "files are missing"),
        "added": (manifest(GOOD), [*some, ("home/agents/ffffffff.json", b"{}")], "not in its manifest"),
        "twice": (manifest(GOOD), [*some, some[0]], "not in its manifest"),
        "newer": (manifest(GOOD, schema_version=2), some, "newer"),
        "another kind": (manifest(GOOD, kind="backup"), some, "not an archive that fleet export made"),
        "no JSON": (b"{", some, "not JSON"),
        "too many": (manifest(GOOD, files=[{"path": f"home/agents/{n}"} for n in range(20_001)]), some, "more than 20000"),
        "too large": (manifest(GOOD, files=[{"path": "home/agents/x", "bytes": 1 << 40, "sha256": ""}]), some, "larger"),
    }  # fmt: skip
    return cases[name] if name else list(cases)


@pytest.mark.parametrize("name", evil(None))
def test_an_archive_that_is_not_to_be_trusted(bare, tmp_path, name):
    """It is refused with what is wrong, and nothing of it is unpacked, here or elsewhere."""
    head, members, word = evil(name)
    build(tmp_path / "x.tar.gz", head, members)

    code, _, err = bare("import", "x.tar.gz", "--into", "d")

    assert (1, True) == (code, word in err), err
    assert ["home", "x.tar.gz"] == sorted(n for n in os.listdir(tmp_path) if n != "fleet")
    assert not os.path.exists("/tmp/fleet-escape")


@pytest.mark.parametrize(
    "data",
    [b"", b"nothing", gzip.compress(b"", mtime=0), gzip.compress(b"x" * 5000, mtime=0), b"\x1f\x8b\x08" + b"x" * 99],
    ids=range(5),
)
def test_what_is_no_archive(bare, tmp_path, data):
    """Said in one line."""
    (tmp_path / "x").write_bytes(data)

    code, _, err = bare("import", "x", "--into", "d")

    assert (1, True) == (code, "Traceback" not in err and len(err.splitlines()) <= 2), err
    assert not (tmp_path / "d").exists()


def test_a_cut_archive(bare, tmp_path):
    """An archive of which the end is missing at any place is refused whole."""
    build(tmp_path / "x", manifest(GOOD), list(GOOD.items()))
    whole = (tmp_path / "x").read_bytes()
    for length in range(0, len(whole) - 9, 23):
        (tmp_path / "x").write_bytes(whole[:length])

        code, _, err = bare("import", "x", "--into", "d")

        assert (1, False) == (code, (tmp_path / "d").exists()), (length, err)


def test_a_bomb_is_not_unpacked(bare, tmp_path, monkeypatch):
    """What unpacks to more than is allowed ends where the limit is."""
    from fleet.operate import archive

    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 100_000)
    monkeypatch.setattr(archive, "MAX_FILES", 10)
    monkeypatch.setattr(archive, "MAX_MANIFEST_BYTES", 10_000)
    build(tmp_path / "x", manifest(GOOD), [*GOOD.items(), ("home/agents/zz", b"\0" * 10_000_000)])

    code, _, err = bare("import", "x", "--into", "d")

    assert (1, False) == (code, (tmp_path / "d").exists()), err


def test_an_import_goes_over_nothing(bare, tmp_path):
    """A folder with something in it, a file, a link and the home itself are refused; an empty folder is taken."""
    build(tmp_path / "x", manifest(GOOD), list(GOOD.items()))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    os.symlink(tmp_path / "empty", tmp_path / "link")
    bare.home.mkdir()
    (bare.home / "config.yaml").write_text("{}")

    for into in ("full", "file", "link", str(bare.home), "/dev/null/x"):
        code, _, err = bare("import", "x", "--into", into)
        assert code in (1, 2) and "Traceback" not in err, (into, code, err)
    assert ["mine"] == os.listdir(tmp_path / "full")
    assert ["config.yaml"] == os.listdir(bare.home)

    code, out, err = bare("import", "x", "--into", "empty")

    assert (0, str(tmp_path / "empty")) == (code, out.strip()), err
    assert 0o400 == (tmp_path / "empty" / "agents" / "a1b2c3d4.json").stat().st_mode & 0o777
