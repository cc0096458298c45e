"""Who is brought back after an outage."""

import itertools

import pytest

from fleet.formats.states import Existence
from fleet.model.outage import BACK, Fate, Remains, fate, order_of

GONE = Remains(conversation="c", log=True)
ROWS = [
    (GONE, Fate.RESUME),
    (GONE._replace(log=False), Fate.RESTART),
    (GONE._replace(conversation=None), Fate.RESTART),
    (GONE._replace(resume=False), Fate.RESTART),
    (GONE._replace(ended="it was left"), Fate.ENDED),
    (GONE._replace(pane=Existence.ALIVE, pane_dead=True), Fate.ENDED),
    (GONE._replace(pane=Existence.ALIVE), Fate.RUNS),
    (GONE._replace(running=True, pane=Existence.ALIVE), Fate.RUNS),
    (GONE._replace(running=True, process="its engine"), Fate.NO_PANE),
    (GONE._replace(running=True), Fate.RUNS),
    (GONE._replace(folder=False), Fate.NO_FOLDER),
    (GONE._replace(folder=None), Fate.UNKNOWN),
    (GONE._replace(folder=False, ended="it was left"), Fate.ENDED),
    (GONE._replace(running=None), Fate.UNKNOWN),
    (GONE._replace(pane=Existence.UNKNOWN), Fate.UNKNOWN),
    (GONE._replace(leaving=True), Fate.FOLLOW),
    (GONE._replace(here=False), Fate.ELSEWHERE),
    (GONE._replace(given_up=True, leaving=True), Fate.GIVEN_UP),
    (GONE._replace(stopping=True, given_up=True), Fate.STOPPING),
    (GONE._replace(given_up=True, pane=Existence.ALIVE, running=True), Fate.RUNS),
    (GONE._replace(given_up=True, running=None), Fate.GIVEN_UP),
]


@pytest.mark.parametrize(("remains", "wanted"), ROWS)
def test_each_fate(remains, wanted):
    """One row a fate, and its reason in words."""
    decided, why = fate(remains)

    assert wanted == decided
    assert why


def test_nobody_comes_back_who_may_live_or_was_not_looked_at():
    """Whatever else is known: a process, a pane, a look that failed, an order, another machine, a folder that is not there
    keep fleet's hands off."""
    flags = [False, True]
    for pane, running, ended, folder, leaving, given_up, stopping, here in itertools.product(
        Existence, (None, False, True), (None, "left"), (None, False, True), flags, flags, flags, flags
    ):
        remains = GONE._replace(
            pane=pane, running=running, ended=ended, leaving=leaving, given_up=given_up, stopping=stopping, here=here,
            folder=folder,
        )  # fmt: skip
        certain = pane == Existence.GONE and running is False and ended is None
        free = here and folder is True and not (leaving or given_up or stopping)

        assert (certain and free) == (fate(remains)[0] in BACK), remains


def test_the_order_is_priority_then_age():
    """The higher priority first, then the older; a priority that is no number is none."""
    rows = [(0, "2026-01-02", "a"), (5, "2026-01-03", "b"), ("x", "2026-01-01", "c"), (True, "2026-01-04", "d")]

    assert ["b", "c", "a", "d"] == [row[2] for row in sorted(rows, key=lambda row: order_of(*row))]
