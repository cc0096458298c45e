"""A drain is killed between any two effects of a handoff; the next pass leaves what an undisturbed one leaves."""

import subprocess

import pytest

from tests.crash.yard import Yard

pytestmark = pytest.mark.crash

SHARDS = 8
#: Effects that change nothing a SIGKILL could find half done: the page cache survives the process.
SYNC = "fsync "


class Chain:
    """One task whose agent is replaced again and again, each time with something being killed."""

    def __init__(self, yard):
        self.yard = yard
        self.turns = 0
        yard.dispatch()

    def handoff(self, at=None, when="after", victim="drain"):
        """One handoff with messages and a draft, a kill at the effect *at*, one more pass, and the invariants."""
        yard = self.yard
        self.turns += 1
        yard.settle()
        yard.old = old = yard.agent().id
        tag = f"m{self.turns}-"
        with open(yard.layout.draft(old), "w", encoding="utf-8") as f:
            f.write(f"## Completed\n\nwhat {tag}agent did\n")
        for number in "12":
            yard.spool(old, tag + number)
        document = yard.order(old)
        plan = yard.plan(at=at, when=when, victim=victim)
        with yard.monitor() as monitor:
            yard.run("drain", "--until-idle", plan=plan, codes=(0,) if at is None else (0, None))
            yard.spool(old, tag + "3")
            yard.drain("--once")
            yard.check_tidy()
            yard.drain("--until-idle")
            yard.settle()
        assert [] == monitor.broken
        assert monitor.samples > 10
        self.check(document, tag, old)
        return plan

    def check(self, document, tag, old):
        """What one handoff must have led to."""
        yard = self.yard
        yard.check_tidy()
        yard.check_resumed(document)
        new = yard.agent()
        gone = yard.fleet.agents.archived(old)
        assert (old, new.id) == (new.predecessor_id, gone.successor_id)
        assert (gone.generation + 1, gone.dispatch_id) == (new.generation, new.dispatch_id)
        assert "handoff" == gone.archived_cause
        assert yard.fleet.journal.accepted(old), "the history of the predecessor is lost"
        with open(document, encoding="utf-8") as f:
            assert f"what {tag}agent did" in f.read()
        assert [tag + number for number in "123"] == yard.messages(tag)


def run(yards, shard, count, *, whens, victims, syncs):
    """Every effect of the shard on a chain; a chain that broke is left alone and a new one begins."""
    chain = Chain(yards())
    plan = chain.handoff()
    names = [name for name in chain.yard.effects(plan, looks=syncs) if syncs or not name.startswith(SYNC)]
    cases = [(name, when, victim) for name in names for when in whens for victim in victims]
    failed, missed = [], []
    for at, when, victim in cases[shard::count]:
        try:
            plan = chain.handoff(at, when, victim)
            if chain.yard.killed(plan) is None:
                missed.append(at)
        except (AssertionError, OSError, subprocess.SubprocessError) as e:
            failed.append(f"{victim} killed {when} {at}: {e}\n{chain.yard.state() if not failed else ''}")
            chain = Chain(yards())
    assert not failed, f"{len(failed)} of {len(cases[shard::count])}\n" + "\n".join(failed)
    assert len(missed) <= len(names) // 10, f"effects that never came again: {missed}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_drain_killed_after_any_effect_is_carried_on_by_the_next_pass(yards, shard):
    """After a SIGKILL at any effect of a handoff one more pass leaves exactly one engine, and nothing of the old."""
    run(yards, shard, SHARDS, whens=("after",), victims=("drain",), syncs=False)
