"""A limit that one agent meets holds all agents of its account, until one of them works again."""

import os
import signal

from fleet.formats.times import parse

LIMIT = {"fake": "STUB: error=429\nSTUB: errmsg=slow down", "claude-code": "STUB: error=429\nSTUB: errmsg=slow down",
         "codex": 'STUB: error=429\nSTUB: errmsg={"type":"usage_limit_reached","message":"The usage limit has been '
                  'reached","plan_type":"plus","resets_at":1800000000}'}  # fmt: skip


def test_a_limit_holds_the_account_and_a_success_lifts_it(world):
    """A message to another agent waits and is then delivered; a dispatch is refused, one of many waits and starts."""
    world.rules({"match": "too much", "do": LIMIT[world.engine]}, {"match": ".", "do": "STUB: say=fine"})
    drain = world.start("drain")
    env = ("--env", "CLAUDE_CODE_MAX_RETRIES=0")
    other = world.dispatch("other", "hello", *env)
    failing = world.dispatch("failing", "too much", *env, wait="accepted")
    (hold,) = world.until(lambda: world.json("hold"), "a hold is on")
    assert ("account", world.engine, "limit", failing["id"]) == (
        hold["scope"], hold["engine"], hold["reason"], hold["agent_id"],
    )  # fmt: skip
    if world.engine == "codex":
        assert 1800000000 == parse(hold["until"])

    sent = world.json("send", "other", "go on")["message_id"]
    world.state("other", "waiting", "hold")
    refused = world.run("dispatch", "third", "--engine", world.engine, "--prompt", "hello", *env)
    assert (1, True) == (refused.returncode, b"is on hold until" in refused.stderr)
    (world.project / "tasks.jsonl").write_text('{"task": "queued", "prompt": "hello"}\n')
    model = ["--model", "claude-sonnet-4-5"] if world.engine != "codex" else []
    world.fleet("dispatch", "--from", "tasks.jsonl", "--engine", world.engine, *model, *env)
    assert world.agents("queued") == []
    assert "is on hold" in world.run("list").stderr.decode()

    world.type(other, "say something")
    world.until(lambda: world.json("hold") == [], "the success has lifted it")
    world.until(lambda: world.agents("queued"), "what waited is started")
    archive = world.fleet_home / "inbox" / "archive"
    world.until(lambda: list(archive.rglob(f"*{sent}.json")), "the message has arrived")
    assert ["HoldBegan", "HoldLifted"] == [
        e["event"] for e in world.events(failing["id"]) if e["event"].startswith("Hold")
    ]
    world.state("failing", "idle")
    world.fleet("drain", "--stop")
    drain.wait(30)


def test_a_handoff_waits_for_the_end_of_a_hold_and_loses_no_attempt(world):
    """Its agent stays as it is; cleared by hand, the drain that waited carries it out."""
    world.rules({"match": ".", "do": "STUB: say=fine"})
    agent = world.dispatch("task", "hello")
    world.fleet("hold", "set", "--project", "default", "--reason", "deploying")
    said = world.run("handoff", "task")
    assert (6, True) == (said.returncode, b"is on hold (operator): deploying" in said.stderr)
    row = world.until(lambda: next((r for r in world.json("queue") if r["last_error"]), None), "the drain has tried")
    assert (0, True) == (row["failures"], "on hold" in row["last_error"])
    assert (agent["id"], "waiting", "hold") == tuple(world.agent("task")[name] for name in ("id", "state", "reason"))

    world.fleet("hold", "clear", "operator-project-default")

    world.until(lambda: [a["generation"] for a in world.agents("task")] == [2], "the successor took over")


def test_a_hold_keeps_a_successor_at_its_gate(world):
    """Its predecessor is not ended meanwhile; where that ends by itself nothing else is started, and all waits."""
    world.rules({"match": "long", "do": f"STUB: bash=while [ ! -e {world.project}/go ]; do sleep 0.05; done\nSTUB: say=ok"},
                {"match": ".", "do": "STUB: say=fine"})  # fmt: skip
    world.config("engines: {fake: {bypass_permissions: true}}\n")
    drain = world.start("drain")
    agent = world.dispatch("task", "long", wait="accepted")
    world.state("task", "working")
    asked = world.start("handoff", "task")
    successor = world.until(lambda: [a for a in world.agents("task") if a["id"] != agent["id"]], "it is held")[0]
    world.fleet("hold", "set", "--project", "default", "--reason", "deploying")
    (world.project / "go").touch()
    world.until(lambda: any(e["event"] == "Stop" for e in world.events(agent["id"])), "its turn is over")
    world.until(
        lambda: [r for r in world.json("queue") if "on hold" in (r["last_error"] or "")], "the drain has looked"
    )
    assert [agent["pid"]] == world.engines()

    os.kill(agent["pid"], signal.SIGKILL)

    world.until(lambda: states(world, "task")[successor["id"]] == ("waiting", "hold"), "it waits at its gate")
    assert 0 == world.json("queue")[0]["failures"]
    world.fleet("hold", "clear", "operator-project-default")
    world.until(lambda: states(world, "task") == {successor["id"]: ("idle", None)}, "it has taken over")
    world.fleet("drain", "--stop")
    drain.wait(30)
    asked.wait(30)


def states(world, task):
    """State and reason of the agents of a task, by id."""
    return {a["id"]: (a["state"], a["reason"]) for a in world.agents(task)}


test_a_hold_keeps_a_successor_at_its_gate.engines = ("fake",)
test_a_handoff_waits_for_the_end_of_a_hold_and_loses_no_attempt.engines = ("fake",)
