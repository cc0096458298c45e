"""The recovery table: from what is there of the old and the new agent of a handoff to the one next step.

It serves the ordinary course and every crash alike: a handoff is carried on from what is on disk, in tmux and in the
process table, never from what the drain remembers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never


class Old(StrEnum):
    """What is left of the predecessor."""

    ALIVE = "alive"  #: some process of its engine lives
    GONE = "gone"  #: none does
    UNKNOWN = "unknown"  #: could not look


class New(StrEnum):
    """How far the successor is."""

    NOTHING = "nothing"  #: no session
    ORPHAN = "orphan"  #: held in its session, with mark and launch file, but without record
    HELD = "held"  #: held at the gate
    RUNNING = "running"  #: released, its prompt not yet accepted
    ENDED = "ended"  #: its engine or its gate ended before it accepted
    ACCEPTED = "accepted"  #: it has accepted its prompt once, whatever it is now
    UNKNOWN = "unknown"  #: could not look


class Step(StrEnum):
    """What the drain does next."""

    WAIT = "wait"
    SPAWN = "spawn"  #: journal, held session, record
    ADOPT = "adopt"  #: write the record of a held session
    END_OLD = "end-old"  #: after its turn, politely, then firmly
    END_OLD_NOW = "end-old-now"  #: two engines would work: end it at once and say so
    OPEN = "open"  #: enrich the document and open the gate
    AWAIT = "await"  #: its acceptance, with a deadline for saying so
    RELAUNCH = "relaunch"  #: save its screen, end its session, count the attempt, spawn again under the same id
    FINISH = "finish"  #: hand messages on, archive the old, remove the entry


def next_step(old: Old, new: New) -> Step:
    """The row of the table."""
    if old == Old.UNKNOWN or new == New.UNKNOWN:
        return Step.WAIT
    alive = old == Old.ALIVE
    match new:
        case New.ACCEPTED:
            return Step.END_OLD_NOW if alive else Step.FINISH
        case New.NOTHING:
            return Step.SPAWN
        case New.ORPHAN:
            return Step.ADOPT
        case New.HELD:
            return Step.END_OLD if alive else Step.OPEN
        case New.RUNNING:
            return Step.END_OLD_NOW if alive else Step.AWAIT
        case New.ENDED:
            return Step.RELAUNCH
    assert_never(new)
