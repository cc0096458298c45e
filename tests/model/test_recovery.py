"""The recovery table, row by row."""

import itertools

import pytest

from fleet.model.recovery import New, Old, Step, next_step

TABLE = {
    (Old.ALIVE, New.NOTHING): Step.SPAWN, (Old.GONE, New.NOTHING): Step.SPAWN,
    (Old.ALIVE, New.ORPHAN): Step.ADOPT, (Old.GONE, New.ORPHAN): Step.ADOPT,
    (Old.ALIVE, New.HELD): Step.END_OLD, (Old.GONE, New.HELD): Step.OPEN,
    (Old.ALIVE, New.RUNNING): Step.END_OLD_NOW, (Old.GONE, New.RUNNING): Step.AWAIT,
    (Old.ALIVE, New.ENDED): Step.RELAUNCH, (Old.GONE, New.ENDED): Step.RELAUNCH,
    (Old.ALIVE, New.ACCEPTED): Step.END_OLD_NOW, (Old.GONE, New.ACCEPTED): Step.FINISH,
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), list(itertools.product(Old, New)))
def test_the_one_next_step(old, new):
    """Whoever could not look waits; everything else has exactly one step."""
    blind = old == Old.UNKNOWN or new == New.UNKNOWN

    assert (Step.WAIT if blind else TABLE[old, new]) == next_step(old, new)


@pytest.mark.parametrize("new", New)
def test_the_gate_opens_only_when_the_predecessor_is_gone(new):
    """OPEN is never the answer while the old engine lives or could not be looked at."""
    assert Step.OPEN not in {next_step(Old.ALIVE, new), next_step(Old.UNKNOWN, new)}


@pytest.mark.parametrize("old", Old)
@pytest.mark.parametrize("new", set(New) - {New.ACCEPTED})
def test_an_entry_is_finished_only_by_acceptance(old, new):
    """FINISH is never the answer before the successor has accepted its prompt."""
    assert Step.FINISH != next_step(old, new)
