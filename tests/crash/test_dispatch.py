"""`fleet dispatch` is killed between any two effects: the committed agent runs, or nothing of it is left."""

import pytest

from tests.crash.invariants import leftovers, wait_for
from tests.crash.matrix import try_all
from tests.crash.yard import SECONDS

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]
SHARDS = 2


@pytest.mark.parametrize("shard", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, SHARDS))])
def test_a_dispatch_killed_after_any_effect_runs_or_leaves_nothing(yards, shard):
    """One drain pass after the kill the recorded agent is at work, or no process, session or file is left."""
    check(yards, "after", shard)


@pytest.mark.full
def test_a_dispatch_killed_before_any_effect_runs_or_leaves_nothing(yards):
    """As after it."""
    check(yards, "before", None)


def check(yards, when, shard):
    yard = yards()
    for _ in range(2):  # the first run also makes the folders, and what every later one finds
        plan = yard.plan()
        yard.run(*yard.dispatch_args(), plan=plan)
        yard.run("stop", "t")
    names = [name for name in yard.effects(plan) if not name.startswith("fsync")]
    assert 20 < len(names)
    outcomes = set()

    def make():
        made = yards()
        made.dispatch()
        made.run("stop", "t")
        made.forget_transcripts()
        return made

    def attempt(yard, at):
        plan = yard.plan(at=at, when=when)
        yard.run(*yard.dispatch_args(wait="started"), plan=plan, codes=(None,))
        yard.drain("--once")
        found = yard.fleet.agents.living().agents
        outcomes.add(len(found))
        if found:
            wait_for(yard.at_work, SECONDS, "an engine")
            yard.settle()
            yard.check_tidy()
            yard.check_resumed("begin\nSTUB: say=begun")
            yard.run("stop", "t")
            yard.forget_transcripts()
        assert [] == leftovers(yard.layout, ())
        assert [] == yard.sessions() + yard.gates() + yard.at_work()

    cases = names[slice(None) if shard is None else slice(shard, None, SHARDS)]
    try_all(cases, make, attempt, state=lambda yard: yard.state())
    assert {0, 1} == outcomes


def test_a_dispatch_killed_while_it_makes_its_home_can_be_repeated(yards):
    """A kill between the folders of a new fleet home leaves a home that the next dispatch completes."""
    yard = yards()
    plan = yard.plan()
    yard.run(*yard.dispatch_args("t"), plan=plan)
    folders = [name for name in yard.effects(plan) if name.startswith("mkdir")]
    assert 15 < len(folders)
    for at in folders[:: len(folders) // 4]:
        other = yards()
        other.run(*other.dispatch_args("t"), plan=other.plan(at=at, when="after"), codes=(None,))
        other.drain("--once")
        other.dispatch("t")
        other.check_tidy()
