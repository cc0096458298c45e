"""How often the pane scanner looks."""

import pytest

from fleet.drain.scanning import STILL_LOOKS, pause_after


@pytest.mark.parametrize(
    ("failures", "still", "seconds"),
    [(0, 0, 1), (0, STILL_LOOKS - 1, 1), (0, STILL_LOOKS, 2), (0, 10**6, 2), (1, 0, 2), (3, 0, 8), (4, 0, 10), (60, 0, 10)],
)
def test_the_pause_grows_with_failures_and_doubles_where_nobody_moves(failures, still, seconds):
    """A look every second where somebody works; a server that does not answer is asked ever less, and never not at all."""
    assert seconds == pause_after(1.0, failures, still)


def test_a_longer_interval_of_the_users_is_kept():
    """Also one that is longer than the longest pause."""
    assert (30.0, 30.0) == (pause_after(30.0, 0, 0), pause_after(30.0, 5, STILL_LOOKS))
