"""Waiting: prompt at first, cheap for ever."""

import pytest

from fleet.clock import MOST_PAUSE_SECONDS, pause, wait_until
from fleet.errors import TimedOut


def looks(clock, seconds):
    """How often something is looked at that never comes."""
    asked = []
    with pytest.raises(TimedOut):
        wait_until(lambda: bool(asked.append(clock.monotonic())), seconds, clock=clock, what="it")
    return asked


def test_what_comes_soon_is_seen_at_once_and_a_long_wait_costs_little(clock):
    """Hundreds of looks in the first seconds, four a second after some minutes, one more when the time is over."""
    asked = looks(clock, 600)

    assert 100 < sum(at - asked[0] < 1 for at in asked)
    assert 5 >= sum(300 < at - asked[0] <= 301 for at in asked)
    assert asked[-1] - asked[0] >= 600


def test_a_look_is_late_by_a_fiftieth_at_most():
    """Or by two thousandths of a second, and never by more than a quarter of one."""
    assert [0.002, 0.02, MOST_PAUSE_SECONDS] == [pause(waited) for waited in (0, 1, 10_000)]
