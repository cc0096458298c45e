"""A hook is killed between any two of its effects; the next pass of the drain, or the next turn, mends it."""

import pytest

from tests.crash.invariants import wait_for
from tests.crash.matrix import try_all
from tests.crash.yard import HOOK_SECONDS, RULES, SECONDS

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

FULL = "begin\nSTUB: say=begun\nSTUB: usage="
WIDTH = 3
NEXT_TURN = {"match": "^go on", "do": ["STUB: say=on it", "STUB: usage=110000"]}


class Case:
    """One hook call of one agent, from the prompt that leads to it."""

    def __init__(self, yard, prompt, nth, later_seconds=0):
        self.yard = yard
        self.prompt = prompt
        self.nth = nth
        self.later_seconds = later_seconds
        self.count = 0
        yard.script([*RULES, NEXT_TURN])

    def start(self, **fields):
        """Dispatch an agent whose *nth* Stop hook follows a plan; its id, its task, the plan."""
        self.count += 1
        task = f"hooked-{self.count}"
        plan = self.yard.hook_plan("Stop", self.nth, **fields)
        self.yard.run(
            *self.yard.dispatch_args(task, prompt=self.prompt, wait="accepted"),
            plan={"home": plan["home"], "hook_launcher": self.yard.shim},
        )
        return self.yard.agent(task).id, task, plan

    def learn(self):
        """The effects of the hook when nothing disturbs it."""
        for _ in range(2):  # the first of all makes what every later one finds
            old, task, plan = self.start()
            self.handed_off(old, task)
        return [name for name in self.yard.effects(plan) if not name.startswith("fsync")]

    def handed_off(self, old, task):
        """Wait until a successor of *old* has taken over; everything is as after any handoff."""
        yard = self.yard
        wait_for(lambda: [a for a in yard.fleet.agents.living().agents if a.task_id == task and a.id != old
                          and yard.fleet.agents.get(old) is None], SECONDS, yard.state)  # fmt: skip
        yard.settle(task)
        new = yard.agent(task)
        yard.check_tidy((task,))
        yard.check_resumed(new.last_handoff_path)
        yard.run("stop", task)
        yard.forget_transcripts()

    def is_due(self, old):
        """Whether the killed hook has left enough behind for the drain to hand off: an entry, a stamp, a MILESTONE."""
        record = self.yard.fleet.agents.get(old)
        if record is None or self.yard.queued() or record.handoff_type == "auto-red":
            return True
        newest = next(iter(self.yard.fleet.journal.newest_first(old)))
        return record.handoff_type == "auto-yellow" and newest.get("tail") == "MILESTONE"

    def mended(self, at):
        """Kill the hook at that effect, then look with a pass, then with a turn; the agent is handed off."""
        yard = self.yard
        old, task, plan = self.start(at=at, when="after")
        wait_for(lambda: yard.killed(plan) is not None, SECONDS, lambda: f"the kill at {at}\n{yard.state()}")
        killed = yard.fleet.clock.wall()
        wait_for(lambda: yard.is_waiting_for_keys(old), SECONDS, lambda: f"an end of the turn after {at}")
        yard.hook_plan("Stop", 99, later_seconds=self.later_seconds)
        ahead = self.nth - 1  # each call's clock is a second ahead of the one before (hook_shim)
        wait_for(lambda: yard.fleet.clock.wall() - killed > HOOK_SECONDS + ahead, SECONDS, "the end of the hook's time")
        due = self.is_due(old)
        yard.drain_patiently("--once")
        assert not due or yard.fleet.agents.get(old) is None, "what was on disk was enough for the drain"
        if yard.fleet.agents.get(old) is not None:
            yard.type(old, "go on")
        self.handed_off(old, task)


@pytest.mark.parametrize(
    ("tokens", "nth", "later_seconds"),
    [
        # asked for its draft and not told so: it is asked again after half an hour
        pytest.param(110000, 1, 1900, id="yellow"),
        pytest.param(110000, 2, 0, id="milestone"),
        pytest.param(150000, 1, 0, id="red", marks=pytest.mark.full),
    ],
)
def test_a_stop_hook_killed_after_any_effect_still_leads_to_one_handoff(yards, stride, tokens, nth, later_seconds):
    """Whatever a killed Stop hook had written, the next pass or turn makes exactly one handoff of it."""

    def make():
        case = Case(yards(), f"{FULL}{tokens}", nth, later_seconds)
        case.names = case.learn()
        return case

    names = make().names
    assert 5 < len(names)
    try_all(names[::stride], make, Case.mended, width=WIDTH, state=lambda case: case.yard.state())


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
def test_a_hook_killed_after_any_effect_of_its_offer_delivers_once(yards, stride, event):
    """Messages that a killed hook was handing over arrive once and in order by what comes next."""
    names = []

    def make():
        yard = yards()
        yard.script([{"match": "^.fleet. Operator message", "do": ["STUB: delay=0.1", "STUB: say=on it"]},
                     {"match": "^slow", "do": ["STUB: delay=2.5", "STUB: say=done"]}])  # fmt: skip
        names[:] = names or told(yard, event, None)
        return yard

    make()
    assert 5 < len(names)
    try_all(names[::stride], make, lambda yard, at: told(yard, event, at), width=WIDTH, state=lambda yard: yard.state())


def told(yard, event, at):
    """Three messages to an agent, the first two by a hook that is killed at that effect; the effects it had."""
    tag = f"k{yard.count}-"
    plan = yard.hook_plan(event, 2 if event == "UserPromptSubmit" else 1, at=at, when="after")
    prompt = "begin\nSTUB: say=begun" if event == "UserPromptSubmit" else "slow"
    yard.run(*yard.dispatch_args(prompt=prompt, wait="accepted"),
             plan={"home": plan["home"], "hook_launcher": yard.shim})  # fmt: skip
    agent = yard.agent().id
    if event == "UserPromptSubmit":
        yard.settle()
    for each in "12":
        yard.spool(agent, tag + each)
    yard.drain_patiently("--until-idle")
    assert at is None or yard.killed(plan) is not None
    yard.spool(agent, tag + "3")
    yard.drain_patiently("--until-idle")
    assert [] == yard.spooled(agent)
    assert [tag + each for each in "123"] == yard.messages(tag)
    yard.run("stop", "t")
    return [name for name in yard.effects(plan) if not name.startswith("fsync")]
