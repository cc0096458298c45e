"""`fleet dispatch` is killed between any two effects: the committed agent runs, or nothing of it is left."""

import pytest

from tests.crash.invariants import leftovers, wait_for
from tests.crash.yard import SECONDS

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]
SHARDS = 2


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_dispatch_killed_after_any_effect_runs_or_leaves_nothing(yard, shard):
    """One drain pass after the kill the recorded agent is at work, or no process, session or file is left."""
    check(yard, "after", shard)


@pytest.mark.full
def test_a_dispatch_killed_before_any_effect_runs_or_leaves_nothing(yard):
    """As after it."""
    check(yard, "before", None)


def check(yard, when, shard):
    plan = yard.plan()
    yard.run(*yard.dispatch_args("first"), plan=plan)
    names = yard.effects(plan)
    assert 40 < len(names)
    # The first run also makes the folders; a kill between those leaves nothing that could matter.
    plan = yard.plan(names={"second": "TASK"})
    yard.run(*yard.dispatch_args("second"), plan=plan)
    names = [name for name in yard.effects(plan) if not name.startswith("fsync")]
    yard.run("stop", "first", "second")
    outcomes = set()
    for number, at in list(enumerate(names))[slice(None) if shard is None else slice(shard, None, SHARDS)]:
        task = f"task-{number}"
        plan = yard.plan(at=at, when=when, names={task: "TASK"})
        yard.run(*yard.dispatch_args(task, wait="started"), plan=plan, codes=(None,))
        yard.drain("--once")
        found = [a for a in yard.fleet.agents.living().agents if a.task_id == task]
        outcomes.add(len(found))
        if found:
            wait_for(lambda: yard.at_work(task), SECONDS, f"an engine after {at}")
            yard.settle(task)
            yard.check_tidy((task,))
            yard.check_resumed(f"begin\nSTUB: say=begun")
            yard.run("stop", task)
            yard.forget_transcripts()
        assert [] == leftovers(yard.layout, ()), at
        assert [] == yard.sessions() + yard.gates() + yard.at_work(task), at
        yard.run(*yard.dispatch_args(task))
        yard.run("stop", task)
        yard.forget_transcripts()
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
