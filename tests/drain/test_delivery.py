"""When an agent with messages is tried again."""

import pytest

from fleet.app import Fleet
from fleet.drain.delivery import Backoff, Deliveries, Woken
from fleet.formats import messages
from fleet.formats.states import MessageState

AGENT = "a1b2c3d4"
FIRST, SECOND = "00000000000000aa", "00000000000000bb"


@pytest.fixture
def deliveries(tmp_path):
    """One message is spooled, and Enter was pressed for it a few times."""
    fleet = Fleet({"FLEET_HOME": str(tmp_path / "f"), "HOME": str(tmp_path)})
    fleet.make_home()
    one = Deliveries(fleet)
    messages.spool(fleet.layout, AGENT, FIRST, "text", 1.0)
    (name,) = messages.names(fleet.layout.spool(AGENT))
    due = fleet.clock.monotonic() + 3600
    one._backoffs[AGENT] = Backoff(due=due, tries=4, last=Woken.PRESSED, first=name)
    return one


def test_what_stirs_after_enter_does_not_press_it_again(deliveries):
    """Until the hook reports, or its time is over."""
    deliveries.stirred(AGENT)

    assert deliveries.seconds_left(AGENT) > 3000


def test_the_next_message_does_not_wait_for_the_one_before(deliveries):
    """That was answered, and the pauses between its tries say nothing of another."""
    layout = deliveries._fleet.layout
    (message,) = messages.pending(layout, AGENT)
    messages.archive(layout, AGENT, message, MessageState.DELIVERED, 2.0, "Stop")
    messages.spool(layout, AGENT, SECOND, "text", 3.0)

    deliveries.stirred(AGENT)

    assert 0.0 == deliveries.seconds_left(AGENT)


@pytest.mark.parametrize("woken", sorted(set(Woken) - {Woken.PRESSED}, key=str))
def test_who_could_not_be_woken_is_tried_again_when_anything_stirs(deliveries, woken):
    """A draft was sent, a dialog answered, a turn ended: the event may be just that."""
    deliveries._backoffs[AGENT].last = woken

    deliveries.stirred(AGENT)

    assert 0.0 == deliveries.seconds_left(AGENT)
