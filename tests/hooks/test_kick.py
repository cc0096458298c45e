"""The hook starts a drain when something is queued and none runs: a process of its own, owing the client nothing."""

import json
import os
import signal
import sys
import time

import pytest

from fleet.clock import SystemClock, wait_until
from fleet.formats.atomic import Lock

RED = 140_000
#: Stands for the drain: says what it was born with, in one rename.
DRAIN = """
import json, os, sys
fds = {}
for fd in os.listdir("/proc/self/fd"):
    try:
        fds[fd] = os.readlink("/proc/self/fd/" + fd)
    except OSError:
        pass  # the listing's own
with open("/proc/self/environ", "rb") as f:
    env = dict(part.split("=", 1) for part in f.read().decode().split("\\0") if part)
me = {"pid": os.getpid(), "sid": os.getsid(0), "pgid": os.getpgid(0), "fds": fds, "env": env, "argv": sys.argv[2:]}
with open(sys.argv[1] + ".tmp", "w") as f:
    json.dump(me, f)
os.rename(sys.argv[1] + ".tmp", sys.argv[1])
"""


@pytest.fixture
def born(agent, tmp_path):
    """Configures the drain; waits for its report and returns it."""
    report = tmp_path / "born.json"
    agent.config["drain_argv"] = [sys.executable, "-I", "-S", "-c", DRAIN, str(report), "drain", "--once"]
    agent.config["drain_env"] = {"PATH": "/bin", "ANSWER": "42"}

    def wait():
        wait_until(report.exists, 20, clock=SystemClock(), what="the drain")
        data = json.loads(report.read_text())
        report.unlink()
        return data

    wait.report = report
    return wait


def stamp(agent):
    """When a drain was last started, or None."""
    path = os.path.join(agent.layout.run, "drain.kicked")
    return os.stat(path).st_mtime if os.path.exists(path) else None


def test_a_queued_handoff_starts_a_drain_in_a_session_of_its_own(agent, born):
    """A client that kills its hook's process group does not reach it."""
    agent.stop(tokens=RED)
    drain = born()
    assert drain["pid"] == drain["sid"] == drain["pgid"]
    assert ["drain", "--once"] == drain["argv"]
    assert abs(time.time() - stamp(agent)) < 10


def test_the_drain_has_nothing_of_the_clients(agent, born):
    """Its standard files are /dev/null, it has no other descriptor, and its environment is the configuration's."""
    secret, writer = os.pipe()
    os.set_inheritable(writer, True)
    env = {**agent.env(), "ANTHROPIC_API_KEY": "sk-secret", "CLAUDECODE": "1", "TMUX_PANE": "%1"}
    chain = [
        "/bin/sh",
        "-c",
        f'exec 9>"$0" 7</etc/passwd; "$@"; exit $?',
        str(agent.folder / "open"),
        sys.executable,
        "-I",
        "-S",
    ]
    hook = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "hooks", "on_event.py")
    agent.say("x", RED)
    agent.hook("Stop", argv=[*chain, hook, "claude-code", "Stop"], env=env)
    drain = born()
    os.close(secret)
    os.close(writer)
    assert {"PATH": "/bin", "ANSWER": "42", "FLEET_HOME": agent.layout.home} == drain["env"]
    assert {"0": "/dev/null", "1": "/dev/null", "2": "/dev/null"} == drain["fds"]


def test_the_hook_does_not_wait_for_the_drain(agent, born):
    """It has ended before the drain does."""
    script = 'echo $$ > "$0.tmp"; mv "$0.tmp" "$0"; exec sleep 60'
    agent.config["drain_argv"] = ["/bin/sh", "-c", script, str(born.report)]
    agent.stop(tokens=RED)
    os.kill(born(), signal.SIGKILL)


def test_a_running_drain_is_not_joined_by_another(agent, born):
    """Whoever holds the drain lock sees the queue itself."""
    with Lock(agent.layout.drain_lock):
        agent.stop(tokens=RED)
    assert stamp(agent) is None
    assert not born.report.exists()


def test_the_hook_gives_the_drain_lock_back(agent, born):
    """Its look does not keep the drain out."""
    agent.stop(tokens=RED)
    born()
    with Lock(agent.layout.drain_lock, 0):
        pass


def test_a_drain_is_started_once_in_thirty_seconds(agent, born):
    """Each turn's end sees the entry that is still queued; only after half a minute it helps again."""
    agent.stop(tokens=RED)
    born()
    first = stamp(agent)
    agent.stop(tokens=RED)
    assert first == stamp(agent)
    os.utime(os.path.join(agent.layout.run, "drain.kicked"), (time.time() - 29, time.time() - 29))
    agent.stop(tokens=RED)
    assert not born.report.exists()
    os.utime(os.path.join(agent.layout.run, "drain.kicked"), (time.time() - 31, time.time() - 31))
    agent.stop(tokens=RED)
    born()


def test_a_stamp_from_the_future_stops_nothing(agent, born):
    """A clock that was set back does not silence the hook for a day."""
    path = os.path.join(agent.layout.run, "drain.kicked")
    with open(path, "w"):
        pass
    os.utime(path, (time.time() + 86_400,) * 2)
    agent.stop(tokens=RED)
    born()
    assert stamp(agent) < time.time() + 10


def test_a_compaction_starts_a_drain_too(agent, born):
    """A handoff by PreCompact does not wait for the turn's end."""
    agent.hook("PreCompact", trigger="auto")
    born()


@pytest.mark.parametrize("tokens", [1000, 100_000])
def test_without_a_queued_handoff_nothing_is_started(agent, born, tokens):
    """Neither at green nor when the agent was only asked."""
    agent.stop(tokens=tokens)
    assert stamp(agent) is None


def test_a_given_up_handoff_starts_nothing(agent, born):
    """There is nothing for a drain to do."""
    with open(agent.layout.dead_entry("a1b2c3d4"), "w"):
        pass
    agent.stop(tokens=RED)
    assert stamp(agent) is None


def test_a_drain_that_cannot_be_started_is_logged(agent):
    """The handoff stays queued, and the next turn's end tries again at once."""
    agent.config["drain_argv"] = ["/nonexistent/fleet"]
    agent.stop(tokens=RED)
    assert agent.entry() is not None
    assert "/nonexistent/fleet" in agent.errors() or "No such file" in agent.errors()
    assert stamp(agent) is None


def test_without_a_drain_to_start_the_handoff_is_queued(agent):
    """A fleet whose drain runs elsewhere configures none."""
    agent.stop(tokens=RED)
    assert agent.entry() is not None
    assert "" == agent.errors()
