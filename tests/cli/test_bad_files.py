"""Every JSON file of the fleet home, broken in every way: the right error, and nothing else harmed."""

import json
import os

import pytest

from tests.conftest import sampled

BREAKS = {
    "empty": lambda p: p.write_bytes(b""),
    "truncated": lambda p: p.write_bytes(p.read_bytes()[: len(p.read_bytes()) // 2]),
    "not utf-8": lambda p: p.write_bytes(b"\xff\xfe" + p.read_bytes()),
    "a list": lambda p: p.write_text("[1, 2]"),
    "a number": lambda p: p.write_text("7"),
    "other types": lambda p: p.write_text(json.dumps({k: [v] for k, v in json.loads(p.read_text()).items()})),
    "newer": lambda p: p.write_text(json.dumps({**json.loads(p.read_text()), "schema_version": 99})),
    "a folder": lambda p: (p.unlink(), p.mkdir()),
    "a fifo": lambda p: (p.unlink(), os.mkfifo(p)),
    "deep": lambda p: p.write_text("[" * 100_000),
}


def break_file(path, how):
    BREAKS[how](path)
    return path.read_bytes() if path.is_file() else None


def unharmed(path, before):
    return (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_record_takes_no_other_agent_down(world, how):
    """It is named with its path, exit 1; the others are listed; the file is left as it is; its engine goes on."""
    bad = world.dispatch("bad", "x\nSTUB: say=ok")
    good = world.dispatch("good", "x\nSTUB: say=ok")
    path = world.fleet_home / "agents" / f"{bad['id']}.json"
    before = break_file(path, how)

    done = world.run("list", "--json")
    world.fleet("drain", "--once")
    sent = world.json("send", "good", "still there?", "--wait", "20")

    assert 1 == done.returncode
    assert str(path) in done.stderr.decode()
    assert [good["id"]] == [a["id"] for a in json.loads(done.stdout)]
    assert "delivered" == sent["result"]
    assert unharmed(path, before)
    assert {bad["pid"], good["pid"]} == set(world.engines())
    assert 1 == world.run("show", bad["id"]).returncode


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_queue_entry_is_given_up_and_kept(world, how):
    """It is reported by name, never acted on, and takes no other handoff down."""
    world.config("handoff: {max_attempts: 1}\n")
    world.rules({"match": "Read the handoff", "do": "STUB: say=resumed\nSTUB: usage=9000"})
    world.dispatch("good", "x\nSTUB: say=ok")
    path = world.fleet_home / "queue" / "spawn-fresh-aaaa1111.json"
    entry = {"schema_version": 1, "old_agent_id": "aaaa1111", "handoff_doc": "/x", "project": "default", "task_id": "t",
             "new_agent_id": "bbbb2222", "new_session": "fleet-bbbb2222", "enqueued_at": "2026-11-30T13:00:00Z"}  # fmt: skip
    path.write_text(json.dumps(entry))
    before = break_file(path, how)

    listed = world.run("queue", "list", "--json")
    world.fleet("handoff", "good")

    assert 1 == listed.returncode
    assert str(path) in listed.stderr.decode()
    dead = world.fleet_home / "queue" / "dead" / path.name
    where = world.until(lambda: next((p for p in (dead, path) if p.exists()), None), "the entry is kept")
    assert unharmed(where, before)
    assert 2 == world.agent("good")["generation"]
    assert not (world.fleet_home / "agents" / "bbbb2222.json").exists()


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_message_stops_no_other(world, how):
    """It stays where it is; the messages behind it arrive."""
    agent = world.dispatch("mail", "x\nSTUB: say=ok")
    folder = world.fleet_home / "inbox" / agent["id"]
    folder.mkdir()
    path = folder / "00000001-00000000000000aa.json"
    path.write_text(json.dumps({"schema_version": 1, "message_id": "00000000000000aa", "op_id": None, "body": "x",
                                "created_at": "2026-11-30T13:00:00Z", "state": "new", "offer": None}))  # fmt: skip
    before = break_file(path, how)

    sent = world.json("send", "mail", "behind it", "--wait", "20")

    assert "delivered" == sent["result"]
    assert unharmed(path, before)


@pytest.mark.parametrize(("name", "how"), sampled(["launch", "attempts", "hook-config", "stop"], BREAKS))
def test_other_broken_files(world, name, how):
    """A broken launch, attempts, hook configuration or stop order breaks no other agent's work."""
    world.rules({"match": "Read the handoff", "do": "STUB: say=resumed\nSTUB: usage=9000"})
    bad = world.dispatch("bad", "x\nSTUB: say=ok")
    world.dispatch("good", "x\nSTUB: say=ok")
    path = {
        "launch": world.fleet_home / "launch" / f"{bad['id']}.json",
        "attempts": world.fleet_home / "queue" / "attempts" / f"{bad['id']}.json",
        "hook-config": world.fleet_home / "run" / "hook-config.json",
        "stop": world.fleet_home / "queue" / "stop-aaaa1111.json",
    }[name]
    if not path.exists():
        path.write_text('{"schema_version": 1, "attempts": 1}')
    break_file(path, how)

    assert "delivered" == world.json("send", "good", "still there?", "--wait", "20")["result"]
    if name != "hook-config" or how not in ("a folder", "a fifo"):
        world.fleet("handoff", "good")
        assert 2 == world.agent("good")["generation"]
    assert b"Traceback" not in world.run("list").stderr
