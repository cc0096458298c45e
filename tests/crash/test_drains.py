"""Several drains at once, and what happens just when one ends."""

import json

import pytest

from tests.crash.invariants import wait_for
from tests.crash.yard import SECONDS

pytestmark = pytest.mark.crash
HANDOFFS, DRAINS = 20, 4


@pytest.mark.timeout(240)
@pytest.mark.parametrize("how", ["--until-idle", "--once"])
def test_of_four_drains_exactly_one_works(yard, how):
    """Twenty handoffs and four drains at the same time: one of them does all, and each task has one engine throughout."""
    tasks = [f"task-{number}" for number in range(HANDOFFS)]
    for first in range(0, HANDOFFS, DRAINS):
        started = [yard.start(*yard.dispatch_args(task)) for task in tasks[first : first + DRAINS]]
        outputs = [one.communicate(timeout=SECONDS)[0] for one in started]
        assert [0] * DRAINS == [one.returncode for one in started], outputs
    documents = [yard.order(agent.id) for agent in yard.fleet.agents.living().agents]
    with yard.monitor(*tasks) as monitor:
        drains = [yard.start("drain", how) for _ in range(DRAINS)]
        outputs = [one.communicate(timeout=2 * SECONDS)[0] for one in drains]
        yard.quiet()
    assert [0] * DRAINS == [one.returncode for one in drains], outputs
    assert [] == monitor.broken
    assert 2 * HANDOFFS == len(set(monitor.engines))
    yard.check_tidy(tasks)
    for document in documents:
        yard.check_resumed(document)
    with open(f"{yard.layout.logs}/drain.jsonl", encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    by_pid = {line["pid"]: line["handoffs"] for line in lines if line["event"] == "ended"}
    assert HANDOFFS in by_pid.values()
    assert HANDOFFS == sum(by_pid.values())


@pytest.mark.timeout(120)
def test_what_is_put_down_just_as_a_drain_ends_is_carried_out(yard):
    """A send that comes when the drain is about to leave finds no drain running, and starts one."""
    agent = yard.dispatch()
    send = yard.argv(("send", "t", "late-1"))
    plan = yard.plan(at="unlink run/drain.json#1", when="before", victim="nobody", command=send)
    yard.run("drain", "--until-idle", plan=plan)
    assert yard.killed(plan) == 0
    wait_for(lambda: ["late-1"] == yard.messages("late-"), SECONDS, yard.state)
    wait_for(lambda: not yard.spooled(agent), SECONDS, yard.state)


@pytest.mark.timeout(120)
def test_two_handoffs_within_the_time_of_one_kick_are_both_carried_out(yard):
    """A hook that queues a handoff moments after another one's drain has come and gone starts a drain again."""
    for task in ("first", "second"):
        yard.run(*yard.dispatch_args(task, prompt="begin\nSTUB: say=begun\nSTUB: usage=150000", wait="accepted"))
        wait_for(lambda task=task: [a for a in yard.fleet.agents.living().agents if a.task_id == task
                                    and a.predecessor_id], SECONDS, yard.state)  # fmt: skip
        yard.settle(task)
    yard.check_tidy(("first", "second"))
