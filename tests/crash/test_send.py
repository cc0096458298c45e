"""`fleet send` and the delivery are killed between any two effects; what was put down once arrives once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fleet.drain import sending
from tests.crash.invariants import wait_for
from tests.crash.yard import SECONDS

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]


def deliver(yard):
    """Have everything delivered that is spooled, as the next `fleet send` or hook would."""
    yard.quiet()
    yard.drain("--until-idle")
    yard.settle()


class Line:
    """A row of messages to one idle agent; what only happens to its first message is tried on new agents."""

    def __init__(self, yards, command, stride):
        self._yards = yards
        self._command = command
        self.yard = yards()
        self.yard.dispatch()
        self.count = 0
        first, second = self.name(), self.name()
        self.names = [name for name in dict.fromkeys([*first, *second]) if not name.startswith("fsync")]
        self._stride = stride
        self._only_first = set(first) - set(second)

    def name(self):
        """Let one message go through undisturbed; the effects of that."""
        self.count += 1
        plan = self.yard.plan()
        self._command(self.yard, f"x{self.count}-", plan, (0,))
        deliver(self.yard)
        return self.yard.effects(plan)

    def each(self):
        """For every effect: its name, a yard, and the beginning of texts, after a kill at that effect."""
        missed = []
        for at in self.names[:: self._stride]:
            self.count += 1
            yard = self.yard
            if at in self._only_first:
                yard = self._yards()
                yard.dispatch()
            plan = yard.plan(at=at, when="after")
            self._command(yard, f"x{self.count}-", plan, (0, None))
            missed += [at] if yard.killed(plan) is None else []
            yield at, yard, f"x{self.count}-"
        assert len(missed) <= 2, missed


def test_a_send_killed_after_any_effect_delivers_once_when_it_is_repeated_with_its_op_id(yards, stride):
    """Repeating a killed send with the same op-id leads to exactly one delivery, whatever the kill left."""

    def send(yard, tag, plan=None, codes=(0,)):
        yard.run("send", "t", tag + "1", "--op-id", "op " + tag, plan=plan, codes=codes)

    line = Line(yards, send, stride)
    assert 10 < len(line.names)
    for at, yard, tag in line.each():
        send(yard, tag)
        send(yard, tag)
        deliver(yard)
        assert [tag + "1"] == yard.messages(tag), at
        yard.check_tidy()


def test_two_sends_at_once_with_one_op_id_put_one_message_down(yard, monkeypatch):
    """Both look for the message before either has put it down: there is one, with one id."""
    agent = yard.fleet.agents.get(yard.dispatch())
    both, look = threading.Barrier(2), sending.where
    local = threading.local()

    def where(*args):
        found = look(*args)
        if not hasattr(local, "looked"):
            local.looked = True
            both.wait(SECONDS)
        return found

    monkeypatch.setattr(sending, "where", where)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: sending.send(yard.fleet, agent, "once", "k"), range(2))

    assert (one.message_id, one.agent_id) == (other.message_id, other.agent_id)
    assert [False, True] == sorted([one.new, other.new])
    assert 1 == len(yard.spooled(agent.id))


def test_a_send_killed_after_any_effect_delivers_at_most_once(yards, stride):
    """A killed send without an op-id has put its message down or has not; it leaves nothing half done."""
    line = Line(yards, lambda yard, tag, plan, codes: yard.run("send", "t", tag + "1", plan=plan, codes=codes), stride)
    for at, yard, tag in line.each():
        deliver(yard)
        assert len(yard.messages(tag)) <= 1, at
        yard.check_tidy()


def test_a_delivery_killed_after_any_effect_is_made_once_by_the_next_pass(yards, stride):
    """A drain killed between look, paste and Enter has its messages delivered once, in order, by the next one."""

    def drain(yard, tag, plan, codes):
        yard.spool(yard.old, tag + "1")
        yard.spool(yard.old, tag + "2")
        yard.run("drain", "--until-idle", plan=plan, codes=codes)

    line = Line(yards, drain, stride)
    assert {"run tmux paste-buffer#1", "run tmux send-keys#1"} <= set(line.names)
    for at, yard, tag in line.each():
        yard.spool(yard.old, tag + "3")
        deliver(yard)
        wait_for(lambda yard=yard: not yard.spooled(yard.old), SECONDS, "an empty spool")
        assert [tag + number for number in "123"] == yard.messages(tag), at
        yard.check_tidy()


def test_a_message_in_the_middle_of_a_handoff_does_not_overtake(yard):
    """A message to the successor's own id, sent while the predecessor's spool is full, comes behind that."""
    old = yard.dispatch()
    yard.spool(old, "o-1")
    yard.spool(old, "o-2")
    yard.order(old)
    plan = yard.plan(at="link agents/~.json#1", when="after")
    yard.run("drain", "--once", plan=plan, codes=(None,))
    new = next(a.id for a in yard.fleet.agents.living().agents if a.id != old)
    yard.spool(new, "o-3")
    deliver(yard)
    yard.drain("--until-idle")
    yard.settle()
    assert ["o-1", "o-2", "o-3"] == yard.messages("o-")
    yard.check_tidy()
