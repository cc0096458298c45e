"""Bringing back what a killed tmux server or a reboot took: the same conversation, once, and nobody who had ended."""

import json
import os
import signal
import time
import uuid
from pathlib import Path

from fleet.formats import events
from tests.agents.test_approvals import asking
from tests.cli.test_shapes import check

WORD = "heliotrope"
REMEMBER = {"match": "what was the word", "do": f"STUB: say=it was {WORD}\nSTUB: usage=9000"}


def lost(world):
    """End the tmux server, and wait until no engine is left."""
    world.tmux("kill-server")
    world.until(lambda: not world.engines(), "no engine is left")


def edit(path, **fields):
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def archived(world, agent_id):
    return json.loads((world.fleet_home / "agents" / "archive" / f"{agent_id}.json").read_text())


def test_the_same_conversation_goes_on(world):
    """After the end of the tmux server `fleet recover` brings the agent back as the next generation, at its prompt in its
    conversation; the old record is archived as recovered, no entry is left, and a second run finds nothing to do."""
    world.rules(REMEMBER)
    old = world.dispatch("word", f"the word is {WORD}\nSTUB: say=noted\nSTUB: usage=9000")
    lost(world)
    world.fleet("send", "word", "what was the word?", code=0)

    (planned,) = json.loads(world.fleet("recover", "--dry-run", "--json"))
    check("recover", [planned])
    assert ("resume", False) == (planned["how"], planned["recovered"])
    (row,) = json.loads(world.fleet("recover", "--json"))

    assert (True, "resume", old["id"]) == (row["recovered"], row["how"], row["id"])
    record = archived(world, old["id"])
    assert ("recovered", row["successor_id"]) == (record["archived_cause"], record["successor_id"])
    assert [] == world.json("queue", "list")
    world.until(lambda: world.model_saw("what was the word"), "the message came")
    new = world.state("word", "idle")
    assert (row["successor_id"], 2, old["dispatch_id"]) == (new["id"], 2, new["dispatch_id"])
    assert [new["pid"]] == world.engines()
    assert world.model_saw(f"the word is {WORD}")
    prompts = [e["prompt_head"] for e in world.events(new["id"], "UserPromptSubmit")]
    assert 1 == len(prompts), prompts
    live = json.loads((world.fleet_home / "agents" / f"{new['id']}.json").read_text())
    assert ("recover", record["conversation_id"]) == (live["origin"], live["conversation_id"])
    assert [] == [r for r in json.loads(world.fleet("recover", "--json")) if r["how"] != "runs"]


def test_an_interrupted_turn_goes_on_and_a_lost_conversation_begins_from_the_document(world):
    """Who was in the middle of a turn is told to go on; whose conversation is not known, or refused by its engine, begins
    from a document that names the task."""
    world.rules(
        {"match": "went away in the middle", "do": "STUB: say=on it\nSTUB: usage=9000"},
        {"match": "Read the handoff document", "do": "STUB: say=read it\nSTUB: usage=9000"},
    )
    world.dispatch("midst", "begin\nSTUB: delay=30\nSTUB: say=never", wait="accepted")
    bare = world.dispatch("bare", "some work\nSTUB: say=done\nSTUB: usage=9000")
    wrong = world.dispatch("wrong", "other work\nSTUB: say=done\nSTUB: usage=9000")
    lost(world)
    log = next(e["transcript_path"] for e in world.events(wrong["id"]) if e.get("transcript_path"))
    path = world.fleet_home / "events" / f"{wrong['id']}.jsonl"
    events.append(str(path), time.time(), "hook", "Stop", {"session_id": str(uuid.uuid4()), "transcript_path": log})
    edit(world.fleet_home / "agents" / f"{bare['id']}.json", transcript_path="/nowhere", conversation_id=None)
    for path in (world.fleet_home / "events").glob(f"{bare['id']}.jsonl*"):
        path.unlink()

    rows = {row["task_id"]: row for row in json.loads(world.fleet("recover", "--json"))}

    assert {"midst": ("resume", True), "bare": ("restart", False), "wrong": ("resume", False)} == {
        task: (row["how"], row["interrupted"]) for task, row in rows.items()
    }
    assert all(row["recovered"] for row in rows.values())
    again = rows["midst"]["successor_id"]
    (told,) = world.until(lambda: world.events(again, "UserPromptSubmit"), "it was told")
    assert "Read the handoff" not in told["prompt_head"]
    for task in ("bare", "wrong"):
        fresh = world.state(task, "idle")
        (prompt,) = world.events(fresh["id"], "UserPromptSubmit")
        assert prompt["prompt_head"].startswith("Read the handoff document")
        document = prompt["prompt_head"].split(" at ")[1].split(" and ")[0]
        assert f"tasks/{fresh['dispatch_id']}.md" in Path(document).read_text()
    assert [] == world.json("queue", "list")


def test_who_was_asking_goes_on(world):
    """A dialog is in the middle of a turn: its question went with it, so its agent is told to go on."""
    world.rules({"match": "begin", "do": asking(world, "one")})
    world.dispatch("asks", "begin", wait="accepted")
    world.state("asks", "waiting", "permission")
    lost(world)

    (row,) = json.loads(world.fleet("recover", "--json"))

    assert ("resume", True, True) == (row["how"], row["interrupted"], row["recovered"])
    world.until(lambda: world.events(row["successor_id"], "UserPromptSubmit"), "it was told")


def test_only_what_went_with_its_machine_comes_back(engine, world):
    """Who had ended by itself, was stopped, or belongs to another machine stays as it is; a boot that differs is enough to
    know that a process is gone; two recoveries at once and a killed one start one successor each."""
    world.config("limits: {recover_at_once: 1}\n")
    for task in ("left", "crashed", "stopped", "abroad", "one", "two"):
        world.dispatch(task, "work\nSTUB: say=done")
    ids = {agent["task_id"]: agent["id"] for agent in world.agents()}
    world.type(world.agent("left"), "/exit")
    world.until(lambda: world.agent("left")["state"] == "exited", "it was left")
    world.tmux("kill-session", "-t", f"=fleet-{ids['left']}")
    crashed = world.agent("crashed")
    os.kill(crashed["pid"], signal.SIGKILL)
    world.until(lambda: world.agent("crashed")["state"] == "exited", "it crashed")
    world.fleet("drain", "--once")
    world.fleet("stop", "stopped")
    lost(world)
    edit(world.fleet_home / "agents" / f"{ids['abroad']}.json", host="elsewhere")
    edit(world.fleet_home / "agents" / f"{ids['two']}.json", boot_id="another", pid=os.getpid(), priority=7)

    planned = json.loads(world.fleet("recover", "--dry-run", "--json"))
    assert "two" == planned[0]["task_id"]
    assert {
        "left": "ended", "crashed": "ended", "abroad": "elsewhere", "one": "resume", "two": "resume",
    } == {row["task_id"]: row["how"] for row in planned}  # fmt: skip
    killed = world.start("recover")
    world.until(lambda: list((world.fleet_home / "queue").glob("spawn-fresh-*.json")), "something was ordered")
    killed.kill()
    killed.wait()
    other = world.start("recover")
    world.fleet("recover")
    assert 0 == other.wait()

    back = {agent["task_id"]: agent["generation"] for agent in world.agents() if agent["state"] == "idle"}
    assert {"one": 2, "two": 2} == back
    assert 2 == len(world.engines())
    assert "stopped" == archived(world, ids["stopped"])["archived_cause"]
    world.fleet("recover", "left", code=1)


def test_a_drain_begins_with_it_when_told_to(engine, world):
    """--recover-on-start brings back before the drain is idle, the setting does it for a drain that stays, and without
    either nobody comes back."""
    old = world.dispatch("one", "work\nSTUB: say=done")
    lost(world)
    world.fleet("drain", "--until-idle")
    assert "gone" == world.agent("one")["state"]

    world.fleet("drain", "--until-idle", "--recover-on-start")

    first = world.agent("one")
    assert ("idle", old["generation"] + 1) == (first["state"], first["generation"])
    lost(world)
    world.config("drain: {recover_on_start: true}\n")
    staying = world.start("drain")
    world.until(lambda: [a["generation"] for a in world.agents("one") if a["state"] == "idle"] == [3], "it is back")
    world.fleet("drain", "--stop")
    assert 0 == staying.wait()


for one in (test_only_what_went_with_its_machine_comes_back, test_a_drain_begins_with_it_when_told_to):
    one.engines = ("fake",)
