"""tmux killed, frozen and slow under a drain that watches and may act: nothing healthy is touched, nothing is lost."""

import json
import os
import shutil
import signal
import time

import pytest

from tests.agents.world import World

ACTS = """
watch: {mode: act, stale_minutes: 0.03, interval_minutes: 0.01, learn: false}
scanner: {interval_seconds: 0.2, deadline_seconds: 2}
drain: {poll_seconds: 1}
"""
TASKS = ["a", "b", "c", "d"]


@pytest.fixture
def world():
    """Four idle agents, and a drain with a watchdog whose window is two seconds."""
    one = World("fake", None)
    one.drain = None
    try:
        one.config(ACTS)
        for task in TASKS:
            one.dispatch(task, "hello\nSTUB: say=hi")
        one.drain = one.start("drain")
        one.until(lambda: scanned(one) == len(TASKS), "all screens were looked at")
        yield one
    finally:
        if one.drain is not None:
            one.drain.terminate()
            one.drain.wait(60)
        one.close()


def scanned(world):
    """How many agents are idle, and were seen to be just now."""
    try:
        seen = json.loads((world.fleet_home / "run" / "screens.json").read_text())["agents"]
    except FileNotFoundError:
        return 0
    fresh = {i for i, screen in seen.items() if screen["turn"] == "idle" and time.time() - screen["looked_at"] < 4}
    return sum(a["id"] in fresh and a["state"] == "idle" for a in world.agents())


def identities(world):
    """Who is there: task, agent, engine process, generation."""
    return sorted((a["task_id"], a["id"], a["pid"], a["generation"]) for a in world.agents())


def acted(world):
    """What a watchdog did to anybody."""
    return [
        e for a in world.agents() for e in world.events(a["id"], "Watchdog") if e.get("action") in ("resume", "respawn")
    ]


def server_pid(world):
    return int(world.tmux("display-message", "-p", "#{pid}"))


def log(world):
    return (world.fleet_home / "logs" / "drain.jsonl").read_text()


def test_a_frozen_server(world):
    """Nobody can be looked at: unknown, not gone. When it goes on all is as before, and nothing was done meanwhile."""
    before, pid = identities(world), server_pid(world)
    os.kill(pid, signal.SIGSTOP)
    try:
        world.until(lambda: "screens not looked at" in log(world), "the scanner says that it cannot look")
        frozen = world.agents()
        asked, told = world.run("approvals"), world.run("approve", TASKS[0])
    finally:
        os.kill(pid, signal.SIGCONT)

    assert {"unknown"} == {a["state"] for a in frozen}
    assert (5, 5) == (asked.returncode, told.returncode)
    assert b"is not known" in asked.stderr and b"nobody asks" not in asked.stderr
    assert b"could not be looked at" in told.stderr
    world.until(lambda: "screens looked at again" in log(world), "the scanner looks again")
    world.until(lambda: scanned(world) == len(TASKS), "everybody is idle")
    assert before == identities(world)
    assert pid == server_pid(world)
    assert [] == acted(world)


def test_a_killed_server(world):
    """Everybody is gone at once: that is no four stalls. The records stay, and what is started next is watched as ever."""
    before = [(task, agent_id) for task, agent_id, _, _ in identities(world)]
    world.tmux("kill-server")

    world.until(lambda: {a["state"] for a in world.agents()} == {"gone"}, "all are gone")
    world.until(lambda: world.run("watch", "--once").returncode == 0, "the watchdog looks")
    assert before == [(task, agent_id) for task, agent_id, _, _ in identities(world)]
    assert [] == acted(world)
    assert world.drain.poll() is None

    world.dispatch("e", "hello\nSTUB: say=hi")
    world.until(lambda: scanned(world) == 1, "the new one is watched")


def test_a_slow_tmux(world):
    """Every call takes long: late, but right."""
    slow = world.bin / "tmux"
    slow.write_text(f'#!/bin/sh\nsleep 0.3\nexec {shutil.which("tmux")} "$@"\n')
    slow.chmod(0o755)
    before = identities(world)
    world.drain.terminate()
    world.drain.wait(60)
    world.drain = world.start("drain")

    a = world.agent("a")
    world.fleet("send", "a", "are you there?")
    world.until(lambda: world.model_saw("are you there?"), "the model has read it")
    world.until(lambda: not world.agent("a")["inbox_pending"] and scanned(world) == len(TASKS), "everybody is idle")

    assert before == identities(world)
    assert [] == acted(world)
    assert ["pressed"] == [e["result"] for e in world.events(a["id"], "Wake")]
