"""The JSON that commands print is what config/schemas says, on a fleet that has lived."""

import json

import jsonschema
import pytest

from tests.house.test_house import SCHEMAS, registry


def check(name, value):
    schema = json.loads(next(p for p in SCHEMAS if p.stem == name).read_text())
    jsonschema.Draft202012Validator(schema, registry=registry()).validate(value)


@pytest.fixture
def lived(world):
    """One agent that got a message and handed off, one that was stopped, one handoff given up."""
    world.rules({"match": "Read the handoff", "do": "STUB: say=resumed\nSTUB: usage=9000"})
    world.dispatch("life", "x\nSTUB: say=ok\nSTUB: usage=30000")
    world.fleet("send", "life", "hello", "--wait", "20")
    world.fleet("handoff", "life")
    world.dispatch("dead", "x\nSTUB: say=ok")
    world.fleet("stop", "dead")
    return world


def test_the_shapes(lived):
    """Every command that prints agents, messages, events and the queue keeps its schema."""
    agents = lived.json("list")
    (agent,) = agents

    check("list", agents)
    check("agent", agent)
    check("agent", lived.json("show", "life"))
    check("agent", lived.json("show", "dead"))
    check("events", lived.json("events", "life"))
    check("peek", lived.json("peek", "life"))
    check("attach", lived.json("attach", "life"))
    check("queue", lived.json("queue", "list"))
    check("send", lived.json("send", "life", "again"))
    for one in lived.json("send", "--all", "all of you"):
        check("send", one)
    check("drain-status", json.loads(lived.run("drain", "--status", "--json").stdout))
    check("status-line", lived.json("status-line"))
    check("keys-print", lived.json("keys", "print"))
    check("keys", lived.json("keys", "install"))
    check("keys", lived.json("keys", "uninstall"))
    check("stop", lived.json("stop", "life"))
    check("drain", lived.json("drain", "--once"))
    for path in (lived.fleet_home / "inbox" / "archive").rglob("*.json"):
        check("message", json.loads(path.read_text()))


def test_a_dispatch_answers_with_the_agent(world):
    """`dispatch --json` prints the agent."""
    check("agent", world.dispatch("one", "x\nSTUB: say=ok"))


def test_a_queued_handoff_and_a_dead_letter(world):
    """The rows of the queue, and the entry on disk."""
    world.config("handoff: {max_attempts: 2, backoff_seconds: 0.1}\n")
    agent = world.dispatch("crash", "x\nSTUB: say=ok")
    world.script.write_text(json.dumps({"client": {"crash_at": "boot", "crash_status": 7}}))

    done = world.run("handoff", "crash", timeout=120)

    assert 1 == done.returncode, done.stderr
    (row,) = world.json("queue", "list")
    check("queue", [row])
    assert ("dead", agent["id"], 2) == (row["state"], row["old_agent_id"], row["failures"])
    entry = world.fleet_home / "queue" / "dead" / f"spawn-fresh-{agent['id']}.json"
    check("queue-entry", json.loads(entry.read_text()))

    world.script.write_text("{}")
    world.fleet("queue", "retry", agent["id"])
    new = world.until(
        lambda: (a := world.agents("crash")) and len(a) == 1 and a[0]["generation"] == 2 and a[0], "the retry works"
    )
    assert row["new_agent_id"] == new["id"]
