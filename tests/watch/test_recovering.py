"""Recovery and what this host can take: nobody is brought back for whom there is no room, and that is said."""

import contextlib
import json
import os
import signal

import pytest

from fleet.app import Fleet
from fleet.drain.recovering import Recovery
from fleet.model.outage import Fate
from fleet.process.table import read_process
from tests.cli.test_shapes import check


def lose(ground):
    """End the tmux server and wait until no engine is left."""
    ground.tmux("kill-server")
    ground.until(lambda: not ground.engines(), "no engine is left")


def work_in(ground, name, task="t"):
    """An agent in a folder of its own, and that folder."""
    folder = ground.root / name
    folder.mkdir()
    ground.json(
        "dispatch", task, "--engine", "fake", "--prompt", "work\nSTUB: say=done", "--wait", "idle", "--cwd", str(folder)
    )
    return folder


def rows(text, how):
    """The rows of a recovery; each must be of that kind."""
    found = json.loads(text)
    check("recover", found)
    assert {how} == {row["how"] for row in found}, found
    return found


def test_who_has_no_folder_waits_for_it_and_loses_no_attempt(ground):
    """Its disk comes late: a dry run and a recovery name the folder (exit 1) and order nothing; once the folder is there the
    next recovery brings the agent back."""
    folder = work_in(ground, "late")
    lose(ground)
    folder.rename(ground.root / "away")

    for args in (("--dry-run",), ()):
        (row,) = rows(ground.fleet("recover", "--json", *args, code=1), "no-folder")
        assert f"left alone: its folder {folder} is not there" == row["why"]
        assert [] == ground.json("queue", "list")
    (ground.root / "away").rename(folder)

    (row,) = rows(ground.fleet("recover", "--json"), "resume")
    assert row["recovered"]


def test_a_drain_that_recovers_brings_back_who_waits_for_a_folder(ground):
    """Of two agents the one is back at once; the other as soon as its folder is there, by the same drain."""
    ground.config("drain: {recover_on_start: true, poll_seconds: 1}\n")
    folder = work_in(ground, "late", "late")
    work_in(ground, "here", "here")
    lose(ground)
    folder.rename(ground.root / "away")
    drain = ground.start("drain")

    def generation(task):
        return max((a["generation"] for a in ground.agents(task) if a["state"] == "idle"), default=0)

    ground.until(lambda: 2 == generation("here"), "one is back")
    assert "gone" == ground.agent("late")["state"]
    (ground.root / "away").rename(folder)
    ground.until(lambda: 2 == generation("late"), "the other one is back")

    ground.fleet("drain", "--stop")
    assert 0 == drain.wait()


def test_an_entry_without_its_folder_waits(ground):
    """A queued handoff whose folder is not there says so and counts no attempt, however often it is looked at; recover does
    not wait for it (exit 1), others get its place, and it is carried out when the folder is there."""
    ground.config("limits: {recover_at_once: 1}\nhandoff: {grace_seconds: 1}\n")
    folder = work_in(ground, "late", "late")
    old = ground.agent("late")
    work_in(ground, "here", "here")
    ground.fleet("hold", "set", "--reason", "until it is queued")
    ground.run("handoff", "late")
    folder.rename(ground.root / "away")
    ground.fleet("hold", "clear", "--all")
    ground.until(lambda: "is not there" in (ground.json("queue", "list")[0]["last_error"] or ""), "it was tried")
    lose(ground)

    found = {row["task_id"]: row for row in json.loads(ground.fleet("recover", "--json", code=1))}

    error = f"the working directory {folder} is not there, and is waited for"
    assert {"late": error, "here": None} == {task: row["error"] for task, row in found.items()}
    assert found["here"]["recovered"]
    for _ in range(2):  # beside the drain that goes on with it, and answers
        assert "1 waiting for retry" in ground.fleet("drain", "--once", "--timeout", "20", code=1)
    (row,) = ground.json("queue", "list")
    assert (old["id"], 0, error) == (row["old_agent_id"], row["failures"], row["last_error"])
    (ground.root / "away").rename(folder)
    ground.fleet("recover")
    assert 2 == ground.agent("late")["generation"]


@pytest.mark.parametrize(("way", "left"), [(("stop", "t", "--grace", "0"), []), (("handoff", "t"), [2])])
def test_an_engine_that_outlives_its_pane_is_named(ground, way, left):
    """Whom the hangup of its server does not end is not brought back beside itself, and not passed over: recover names the
    process and both ways out, and each of them ends it."""
    command = ("--engine", "command", "--wait", "started", "--", "nohup", "sleep", "400")
    agent = ground.json("dispatch", "t", *command)
    try:
        ground.tmux("kill-server")

        (row,) = rows(ground.fleet("recover", "--json", code=1), "no-pane")
        ways = "`fleet handoff` ends it and goes on, `fleet stop` ends it"
        assert f"its engine (pid {agent['pid']}) still runs without a pane; {ways}" in row["why"]
        assert str(agent["pid"]) in ground.fleet("recover", code=1)
        assert [] == ground.json("queue", "list")
        ground.fleet(*way)
        assert left == [one["generation"] for one in ground.agents()]
        process = read_process(agent["pid"])
        assert process is None or process.zombie
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(agent["pid"], signal.SIGKILL)


def test_a_recovery_heeds_the_limits_of_the_host(ground):
    """With two places for three agents two are back, the third is named with the reason (exit 1), has no
    entry and no session; the next recovery, with room, brings it back. One without memory to spare brings nobody back."""
    for task in ("one", "two", "three"):
        ground.dispatch(task, "work\nSTUB: say=done")
    lose(ground)

    ground.config("limits: {min_free_memory_mb: 99999999}\n")
    full = json.loads(ground.fleet("recover", "--json", code=1))
    assert 3 == sum("MB of memory are free" in row["error"] for row in full)
    ground.config("limits: {max_sessions: 2, recover_at_once: 3}\n")
    *back, left = sorted(json.loads(ground.fleet("recover", "--json", code=1)), key=lambda row: not row["recovered"])

    assert [True, True, False] == [row["recovered"] for row in (*back, left)]
    assert "as many agents are there as may be: 2 are allowed" in left["error"]
    assert 2 == len(ground.sessions())
    assert [] == ground.json("queue", "list")
    ground.config("limits: {max_sessions: 3}\n")
    (last,) = [row for row in json.loads(ground.fleet("recover", "--json")) if row["how"] != "runs"]
    assert (left["task_id"], True) == (last["task_id"], last["recovered"])
    assert 3 == len(ground.sessions())


def give_up(ground, task):
    """Hand off while nothing may be started, and make the entry a dead letter, as a drain does in the end; the agent."""
    agent = ground.agent(task)
    ground.fleet("hold", "set", "--reason", "nothing starts")
    ground.run("handoff", task, timeout=20)
    name = f"spawn-fresh-{agent['id']}.json"
    queue = ground.fleet_home / "queue"
    (queue / name).rename(queue / "dead" / name)
    ground.fleet("hold", "clear", "--all")
    return agent


def test_what_was_given_up_or_has_gone_holds_no_place(ground):
    """With one place, a handoff that was given up and three agents that went with their server: a batch starts its task, in
    whose place the next recovery brings one back; with three, it brings all three back."""
    for task in ("dead", "one", "two", "three"):
        ground.dispatch(task, "work\nSTUB: say=done")
    give_up(ground, "dead")
    lose(ground)
    ground.config("limits: {max_sessions: 1, recover_at_once: 3}\n")

    tasks = ground.root / "tasks.yaml"
    tasks.write_text(json.dumps({"tasks": [{"task": "new", "engine": "command", "command": ["sleep", "1000"]}]}))
    assert "started" == json.loads(ground.fleet("dispatch", "--from", str(tasks), "--json"))[0]["result"]
    assert 0 == ground.json("digest")["free_slots"]
    ground.fleet("stop", "new")
    assert 1 == ground.json("digest")["free_slots"]
    found = json.loads(ground.fleet("recover", "--json", code=1))
    assert [True, False, False] == sorted((r["recovered"] for r in found if r["how"] == "resume"), reverse=True)
    ground.config("limits: {max_sessions: 3, recover_at_once: 3}\n")
    ground.fleet("recover", code=1)  # the one that was given up
    assert 3 == len(ground.sessions())


def test_who_was_given_up_is_named_by_every_recovery(ground):
    """Exit code 1 and the commands that free it, from a run that finds the dead letter and from one that saw the agent on
    its way before; not while the engine runs."""
    ground.dispatch("t", "work\nSTUB: say=done")
    agent = give_up(ground, "t")
    assert "nothing to bring back" in ground.run("recover").stderr.decode()
    lose(ground)
    dead = ground.fleet_home / "queue" / "dead" / f"spawn-fresh-{agent['id']}.json"
    entry = json.loads(dead.read_text())
    arrival = {**entry, "old_agent_id": "00000001", "new_agent_id": agent["id"], "new_session": f"fleet-{agent['id']}"}
    arriving = ground.fleet_home / "queue" / "spawn-fresh-00000001.json"
    arriving.write_text(json.dumps(arrival))
    dead.rename(ground.root / "dead")

    other = Recovery(Fleet(ground.env))
    assert [Fate.FOLLOW] == [row.fate for row in other.look()]
    arriving.unlink()
    look = other._arriving

    def given_up_just_now():
        if not dead.exists():
            (ground.root / "dead").rename(dead)
        return look()

    other._arriving = given_up_just_now
    while not other.advance():
        pass

    assert [(agent["id"], Fate.GIVEN_UP, True)] == [(row.agent.id, row.fate, row.given_up) for row in other.rows]
    done = ground.run("recover", "--dry-run")
    assert (1, True) == (done.returncode, "given-up" in done.stdout.decode())
    assert f"`fleet queue retry {agent['id']}` tries its handoff again" in done.stderr.decode()
