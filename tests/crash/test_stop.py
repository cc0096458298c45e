"""`fleet stop` is killed between any two effects: the next pass ends what was ordered to end, and keeps its traces."""

import os

import pytest

from fleet.formats import messages
from tests.crash.invariants import leftovers
from tests.crash.matrix import try_all

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]
SHARDS = 4


@pytest.mark.parametrize("shard", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, SHARDS))])
def test_a_stop_killed_after_any_effect_is_completed_by_the_next_pass(yards, shard):
    """One pass after the kill the agent is gone with its session, its messages are returned, its record is kept."""
    check(yards, "after", shard)


@pytest.mark.full
def test_a_stop_killed_before_any_effect_is_completed_by_the_next_pass(yards):
    """As after it."""
    check(yards, "before", None)


def stopped(yard, plan, codes):
    """A stop with a message that was never handed over; the agent's id."""
    agent = yard.dispatch()
    yard.spool(agent, "never read")
    plan["names"] = {agent: "OLD"}
    yard.quiet()  # no drain of the case before: with one, a stop has other effects
    yard.run("stop", "t", plan=plan, codes=codes)
    return agent


def check(yards, when, shard):
    yard = yards()
    plan = yard.plan()
    stopped(yard, plan, (0,))
    names = [name for name in yard.effects(plan) if not name.startswith("fsync")]
    assert 25 < len(names)
    missed = []

    def attempt(yard, at):
        plan = yard.plan(at=at, when=when)
        agent = stopped(yard, plan, (0, None))
        missed.extend([at] if yard.killed(plan) is None else [])
        ordered = os.path.exists(yard.layout.stop_order(agent)) or yard.fleet.agents.get(agent) is None
        yard.drain("--once")
        states = {"returned"}
        if not ordered:  # the kill came before the order stood: nothing was asked for
            yard.check_tidy()
            yard.run("stop", "t")
            states = {"returned", "delivered", "unconfirmed"}
        assert [] == leftovers(yard.layout, ())
        assert [] == yard.sessions() + yard.gates() + yard.at_work()
        gone = yard.fleet.agents.archived(agent)
        assert "stopped" == gone.archived_cause
        assert yard.fleet.journal.accepted(agent), "its history is lost"
        folder = os.path.join(yard.layout.inbox_archive, agent)
        found = [str(messages.read(os.path.join(folder, name)).state) for name in messages.names(folder)]
        assert 1 == len(found)
        assert states >= set(found)

    cases = names[slice(None) if shard is None else slice(shard, None, SHARDS)]
    try_all(cases, yards, attempt, state=lambda yard: yard.state())
    assert len(missed) <= 3, missed
