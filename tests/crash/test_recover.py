"""`fleet recover` is killed between any two effects: the next run brings back what an undisturbed one brings back."""

import os
import signal
import time

import pytest

from fleet.formats import texts
from tests.crash import processes
from tests.crash.effects import strike
from tests.crash.invariants import Monitor, leftovers, wait_for
from tests.crash.matrix import try_all
from tests.crash.yard import RULES, SECONDS

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

SHARDS = 4
RECOVER, ON_START = ("recover",), ("drain", "--once", "--recover-on-start")
LONG = "a long task"
#: Who was interrupted was told and has no entry yet; the successors are let go; one is at its prompt, one is filed away.
STEPS = (
    "replace inbox/MID/~.json#1", "make session#1", "link launch/~.~.open#1", "replace agents/OLD.json#1",
    "replace agents/archive/MID.json#1",
)  # fmt: skip
SYNC = "fsync "  #: changes nothing that a SIGKILL could find half done: the page cache survives the process


class Outage:
    """
    Two agents that come back whenever their tmux server is killed, and two that do not.

    `t` is idle, `mid` in the middle of a turn; `left` ended by itself, `gone` was stopped.
    """

    def __init__(self, yard):
        self.yard = yard
        yard.script([
            {"match": "went away in the middle", "do": "STUB: say=on it"},
            {"match": f"^{LONG}", "do": ["STUB: delay=600", "STUB: say=never"]},
            *RULES,
        ])  # fmt: skip
        started = [yard.start(*yard.dispatch_args(task)) for task in ("t", "mid", "left", "gone")]
        said = [one.communicate(timeout=SECONDS)[0] for one in started]
        assert [0] * 4 == [one.returncode for one in started], said
        yard.run("stop", "gone")
        left = yard.agent("left")
        os.kill(left.pid, signal.SIGKILL)
        wait_for(lambda: yard.turn("left") == "exited", SECONDS, "the end of left")
        yard.drain("--once")
        self.left = left.id
        self.before, self.before_told = {}, 0

    def lose(self):
        """Have one of them work, and end the server; what is known of both."""
        yard = self.yard
        yard.settle("t")
        yard.settle("mid")
        mid = yard.agent("mid")
        yard.type(mid.id, LONG)
        wait_for(lambda: yard.turn("mid") == "working", SECONDS, "mid works")
        yard.quiet()
        self.before = {task: yard.agent(task) for task in ("t", "mid")}
        self.before_told = self.told()
        self.end_server()

    def end_server(self):
        """Kill it with all that it holds, and wait until nothing is left."""
        strike("tmux", self.yard.plan())
        wait_for(lambda: not processes.of_home(str(self.yard.home)), SECONDS, "nothing is left of the agents")

    def plan(self, **fields):
        """A plan in which the agents that went have names."""
        names = {agent.id: {"t": "OLD", "mid": "MID"}[task] for task, agent in self.before.items()}
        return {**self.yard.plan(**fields), "names": names}

    def attempt(self, command, at=None, when="after", *, then=None):
        """
        One outage, a recovery that is killed at an effect, and another one.

        Args:
            at: None for no kill.
            then: something else that happens before the second one.
        """
        self.lose()
        plan = self.plan(at=at, when=when)
        with self.monitor() as monitor:
            self.yard.run(*command, plan=plan, codes=(0,) if at is None else (0, None))
            if then is not None:
                self.yard.quiet()
                then()
            self.yard.run(*command)
            self.check(once=then is None)
        assert [] == monitor.broken
        return plan

    def monitor(self):
        """Sees two engines of one agent at any moment."""
        return Monitor(self.yard.layout, ())

    def check(self, *, once=True):
        """
        Who was to come back is there once, in its conversation; nobody else is; nothing is lost or left.

        Args:
            once: nobody was interrupted a second time.
        """
        yard = self.yard
        yard.drain("--until-idle")
        for task in self.before:
            yard.settle(task)
        living = yard.fleet.agents.living()
        assert (["left", "mid", "t"], []) == (sorted(a.task_id for a in living.agents), list(living.bad))
        back = {a.task_id: a for a in living.agents if a.id != self.left}
        for task, old in self.before.items():
            new, heir = back[task], yard.fleet.agents.archived(old.id)
            while heir.successor_id not in (None, new.id):
                assert "recovered" == heir.archived_cause
                heir = yard.fleet.agents.archived(heir.successor_id)
            assert ("recovered", new.id) == (heir.archived_cause, heir.successor_id)
            assert (heir.generation + 1, old.dispatch_id) == (new.generation, new.dispatch_id)
            (engine,) = yard.at_work(task)
            assert (engine.pid, engine.agent) == (new.pid, new.id)
            with open(f"/proc/{engine.pid}/cmdline", "rb") as f:
                words = f.read().decode().split("\0")
            assert ("--resume", old.conversation_id) == tuple(words[words.index("--resume") :][:2])
            assert old.conversation_id == new.conversation_id
        ids = {a.id for a in living.agents}
        assert [] == yard.gates() + yard.queued() + leftovers(yard.layout, ids)
        assert sorted(f"fleet-{a.id}" for a in back.values()) == yard.sessions()
        told = self.told() - self.before_told
        assert told == 1 if once else 1 <= told <= 3, told

    def told(self):
        """How often `mid` was told to go on so far."""
        said = self.yard.transcripts()[self.before["mid"].conversation_id]
        return sum(kind == "injected" and texts.RECOVERED in text for kind, text in said)


def each(yards, cases):
    """All *cases*: command, effect, when, and whether the server is killed as well, in chains of outages."""
    missed = []

    def attempt(bench, case):
        command, at, when, server = case
        plan = bench.attempt(command, at, when, then=bench.end_server if server else None)
        missed.extend([case] if bench.yard.killed(plan) is None else [])

    try_all(cases, lambda: Outage(yards()), attempt, state=lambda bench: bench.yard.state())
    assert len(missed) <= len(cases) // 10, f"effects that never came again: {missed}"


def names(yards, command, shard):
    """The shard's effects that come with every undisturbed recovery, those that change nothing too."""
    bench = Outage(yards())
    bench.attempt(command)  # it has prompts to clear away, which nobody has who came back
    first, second = (bench.yard.effects(bench.attempt(command), looks=True) for _ in "12")
    bench.yard.close()
    found = [name for name in first if name in second and not name.startswith(SYNC)]
    assert 100 < len(found)
    return found[shard::SHARDS]


def test_a_killed_recovery_is_finished_by_the_next(yards):
    """After a SIGKILL at a step of a recovery, the next brings everybody back once, in the right conversation, and nobody
    else; also by a drain that recovers, and when the tmux server is killed again in between."""
    cases = [
        (RECOVER, STEPS[0], "after", False),
        (RECOVER, STEPS[2], "after", True),
        (ON_START, STEPS[3], "after", True),
    ]
    each(yards, cases)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize(("command", "server"), [(RECOVER, False), (RECOVER, True), (ON_START, False)])
def test_a_recovery_killed_after_any_effect(yards, command, server, shard):
    """As above, for every effect."""
    each(yards, [(command, name, "after", server) for name in names(yards, command, shard)])


@pytest.mark.full
def test_a_recovery_killed_before_a_step(yards):
    """As above, before each step, by either command, with and without the end of the server."""
    each(
        yards, [(command, at, "before", server) for command in (RECOVER, ON_START) for at in STEPS for server in (0, 1)]
    )


@pytest.mark.full
def test_of_two_recoveries_at_once_nobody_comes_back_twice(yard):
    """Two at the same time, also with one of them killed somewhere: every agent comes back once."""
    bench = Outage(yard)
    for number in range(20):
        bench.lose()
        with bench.monitor() as monitor:
            both = [yard.start(*command) for command in (RECOVER, ON_START if number % 2 else RECOVER)]
            if number >= 10:
                time.sleep((number - 10) / 5)  # anywhere in it
                both[0].kill()
            said = [one.communicate(timeout=2 * SECONDS)[0] for one in both]
            assert {0} == {one.returncode for one in both[number >= 10 :]}, said
            yard.quiet()
            bench.check()
        assert [] == monitor.broken
