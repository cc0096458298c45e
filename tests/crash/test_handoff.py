"""A drain is killed between any two effects of a handoff; the next pass leaves what an undisturbed one leaves."""

import contextlib
import itertools
import random
import subprocess

import pytest

from fleet.formats.handoff import MACHINE
from fleet.formats.states import Turn
from fleet.formats.texts import SECTIONS
from tests.crash.effects import strike
from tests.crash.invariants import wait_for
from tests.crash.matrix import try_all
from tests.crash.yard import SECONDS

pytestmark = pytest.mark.crash

SHARDS, FULL_SHARDS = 4, 4
OTHERS = ("tmux", "old", "new")
#: One effect behind every step of the recovery table.
STEPS = (
    "replace queue/attempts/OLD.json#1", "replace launch/~.json#1", "popen tmux new-session#1", "make session#1",
    "link agents/~.json#1", "kill SIGTERM#1", "replace handoffs/OLD-DOC.md#1", "link launch/~.~.open#1",
    "run tmux kill-pane#1", "replace agents/archive/OLD.json#1", "unlink queue/spawn-fresh-OLD.json#1",
)  # fmt: skip
#: Effects that change nothing a SIGKILL could find half done: the page cache survives the process.
SYNC = "fsync "


class Chain:
    """One task whose agent is replaced again and again, each time with something being killed."""

    def __init__(self, yard):
        self.yard = yard
        self.turns = 0
        yard.dispatch()

    def handoff(self, at=None, when="after", victim="drain", delay=None):
        """
        One handoff with messages and a draft, a kill, one more pass, and the invariants.

        Args:
            at: the effect to kill at; None for none.
            delay: kill after so many seconds instead.
        """
        yard = self.yard
        self.turns += 1
        yard.settle()
        yard.old = old = yard.agent().id
        tag = f"m{self.turns}-"
        with open(yard.layout.draft(old), "w", encoding="utf-8") as f:
            f.write("".join(f"## {section}\n\n{tag}agent on this\n\n" for section in SECTIONS))
        for number in "12":
            yard.spool(old, tag + number)
        document = yard.order(old)
        plan = yard.plan(at=at, when=when, victim=victim)
        with yard.monitor() as monitor:
            if delay is None:
                yard.run("drain", "--until-idle", plan=plan, codes=(0,) if at is None else (0, None))
            else:
                self.disturb(plan, delay)
            yard.spool(old, tag + "3")
            yard.drain("--once")
            if victim != "drain":  # a start that failed is tried again after its back-off
                wait_for(lambda: not yard.queued() or yard.drain("--once") is None, SECONDS, yard.state)
            new = self.successor(old)
            lost = victim in ("new", "tmux") and not yard.at_work()
            if not lost:
                yard.check_tidy()
                yard.drain("--until-idle")
                yard.settle()
        assert monitor.samples > 10
        if lost:  # whoever has accepted once was handed the work: that it died later is for `respawn`, and is seen
            assert yard.fleet.journal.accepted(new)
            assert {Turn.EXITED, Turn.GONE} >= {yard.turn()}
            assert [] == yard.queued()
            yard.run("stop", "t")
            yard.dispatch()
            return plan
        assert [] == monitor.broken
        self.check(document, tag, old, again=victim in ("new", "tmux"))
        return plan

    def disturb(self, plan, delay):
        """Run a drain and kill the plan's victim so many seconds later."""
        drain = self.yard.start("drain", "--until-idle")
        with contextlib.suppress(subprocess.TimeoutExpired):
            drain.communicate(timeout=delay)
        if plan["victim"] == "drain":
            drain.kill()
        else:
            strike(plan["victim"], plan)
        drain.communicate(timeout=SECONDS)

    def successor(self, old):
        """The id of the agent that was to take over."""
        return self.yard.fleet.agents.archived(old).successor_id

    def check(self, document, tag, old, *, again):
        """What one handoff must have led to; *again*: the successor may have had to be started more than once."""
        yard = self.yard
        yard.check_tidy()
        yard.check_resumed(document, again=again)
        new = yard.agent()
        gone = yard.fleet.agents.archived(old)
        assert (old, new.id) == (new.predecessor_id, gone.successor_id)
        assert (gone.generation + 1, gone.dispatch_id) == (new.generation, new.dispatch_id)
        assert "handoff" == gone.archived_cause
        assert yard.fleet.journal.accepted(old), "the history of the predecessor is lost"
        with open(document, encoding="utf-8") as f:
            text = f.read()
        assert len(SECTIONS) == text.count(f"{tag}agent on this")
        labels = [line for line in text.splitlines() if line.startswith(MACHINE)]
        assert len(set(labels)) == len(labels), "what the machine knows stands there twice"
        assert [tag + number for number in "123"] == yard.messages(tag)


def run(yards, shard, count, *, whens, victims, syncs):
    """Every effect of the shard, each in one handoff of a chain."""
    chain = Chain(yards())
    plan = chain.handoff()
    names = [name for name in chain.yard.effects(plan, looks=syncs) if syncs or not name.startswith(SYNC)]
    assert 60 < len(names)
    cases = list(itertools.product(names, whens, victims))
    missed = []

    def attempt(bench, case):
        plan = bench.handoff(*case)
        if bench.yard.killed(plan) is None:
            missed.append(case)

    try_all(cases[shard::count], lambda: Chain(yards()), attempt, state=lambda bench: bench.yard.state())
    assert len(missed) <= len(cases) // 10, f"effects that never came again: {missed}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("shard", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, SHARDS))])
def test_a_drain_killed_after_any_effect_is_carried_on_by_the_next_pass(yards, shard):
    """After a SIGKILL at any effect of a handoff one more pass leaves exactly one engine, and nothing of the old."""
    run(yards, shard, SHARDS, whens=("after",), victims=("drain",), syncs=False)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("victim", ["tmux", "old", "new"])
def test_whoever_else_is_killed_between_the_steps_the_work_goes_on(yards, victim):
    """Kill the tmux server, the old or the new agent at the steps of a handoff: the entry is carried out all the same."""

    def attempt(bench, at):
        assert bench.yard.killed(bench.handoff(at, "after", victim)) is not None

    try_all(STEPS, lambda: Chain(yards()), attempt, state=lambda bench: bench.yard.state())


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(FULL_SHARDS))
@pytest.mark.parametrize(("when", "victim"), [("before", "drain"), *itertools.product(("before", "after"), OTHERS)])
def test_whoever_is_killed_at_whatever_effect_the_work_goes_on(yards, when, victim, shard):
    """As above, for every effect, before and after it, looks and syncs too, and everybody who can be killed."""
    run(yards, shard, FULL_SHARDS, whens=(when,), victims=(victim,), syncs=True)


def at_random(yards, seed, count):
    """So many handoffs, each with one kill of one party at one time."""
    chance = random.Random(seed)
    chain = Chain(yards())
    for number in range(count):
        victim, delay = chance.choice(("drain", *OTHERS)), chance.uniform(0.05, 1.0)
        try:
            chain.handoff(victim=victim, delay=delay)
        except AssertionError as e:
            raise AssertionError(f"seed {seed}, run {number}: {victim} killed after {delay:.3f} s: {e}") from e


@pytest.mark.timeout(300)
def test_ten_kills_at_random_times(yards):
    """A handoff survives a kill of anybody at any time."""
    at_random(yards, 1, 10)


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills_at_random_times(yards, seed):
    """As above, ten times ten."""
    at_random(yards, 100 + seed, 10)
