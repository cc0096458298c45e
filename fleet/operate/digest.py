"""A fleet on one page: who does what, who waits for whom, what is stuck, what was done about it, what is next.

Pure: from rows that were gathered to what is printed. The ledger holds words of closed lists, numbers and ids alone: no
title, no command, nothing that an agent or a person wrote, so that another agent may read it without being told things.
"""

from __future__ import annotations

from fleet.formats.enums import StrEnum
from fleet.formats.states import Reason, Turn
from fleet.formats.tuples import NamedTuple
from fleet.model.liveness import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

VERSION = 1
MOST_TASKS = 256  #: in a ledger
STALLED = frozenset({Verdict.STALLED, Verdict.DEAD, Verdict.GONE})


class Next(StrEnum):
    """What the operator can do about one agent."""

    ANSWER = "answer"  #: a question, a permission, trust or a plan is open
    LOG_IN = "log-in"  #: its engine is not logged in
    WAIT = "wait"  #: for a limit, a hold or a handoff: time mends it
    RETRY = "retry"  #: its handoff was given up
    DRAFT = "draft"  #: somebody's half-typed text is in its composer
    RECOVER = "recover"  #: its session and its engine are gone
    HAND_OFF = "hand-off"  #: its pane is gone and its engine still runs
    LOOK = "look"  #: it has stalled or ended, cannot be judged, or shows a dialog that is closed in its pane
    REVIEW = "review"  #: its turn is over
    NOTHING = "nothing"  #: it works


_OF_REASON = {
    Reason.LOGIN: Next.LOG_IN, Reason.LIMIT: Next.WAIT, Reason.HOLD: Next.WAIT, Reason.HANDOFF: Next.WAIT,
    Reason.DEAD_LETTER: Next.RETRY, Reason.DRAFT: Next.DRAFT, Reason.DIALOG: Next.LOOK,
}  # fmt: skip
_COMMANDS = {
    Next.ANSWER: "fleet approvals", Next.LOG_IN: "fleet attach {id}", Next.RETRY: "fleet queue retry {id}",
    Next.DRAFT: "fleet attach {id}", Next.RECOVER: "fleet recover {id}", Next.LOOK: "fleet explain {id}",
    Next.REVIEW: "fleet peek {id}", Next.HAND_OFF: "fleet handoff {id}",
}  # fmt: skip
#: In which order next steps are said: what holds others up first.
_ORDER = tuple(Next)


class Row(NamedTuple):
    """One agent."""

    id: str
    dispatch_id: str
    task_id: str
    generation: int
    engine: str
    turn: Turn
    reason: Reason | None = None
    evidence: str = ""
    since: str | None = None
    liveness: Verdict = Verdict.FRESH
    why: str = ""  #: of the liveness
    age_seconds: float | None = None  #: of its newest sign of life
    handoff: str = "none"  #: none, queued or dead
    turns: int = 0  #: that ended since the time asked for
    failures: int = 0  #: turns that failed since then
    action: str = "none"  #: the watchdog's last since then
    stray: bool = False  #: its engine has outlived its pane


def next_of(row: Row) -> Next:
    """The one thing to do about an agent."""
    if row.handoff == "dead":
        return Next.RETRY
    if row.turn == Turn.WAITING:
        return _OF_REASON.get(row.reason, Next.ANSWER) if row.reason else Next.ANSWER
    if row.turn == Turn.GONE:
        return Next.RECOVER
    if row.stray and row.turn == Turn.UNKNOWN:
        return Next.HAND_OFF
    if row.turn in (Turn.EXITED, Turn.UNKNOWN) or row.liveness in STALLED:
        return Next.LOOK
    return Next.REVIEW if row.turn == Turn.IDLE else Next.NOTHING


def scaling(queued: int, free: int | None, idle: int) -> str | None:
    """A word about the number of agents, never a decision; None when there is nothing to say."""
    if not queued or free is None:
        return None
    words = f"{queued} task{'s' if queued != 1 else ''} queued, {free} free slot{'s' if free != 1 else ''}"
    if free > 0:
        return f"{words}: a drain starts them, or their batch is at its --max"
    return f"{words}: stop some of {idle} idle, or raise limits.max_sessions" if idle else f"{words}: wait"


def compose(
    rows: Sequence[Row],
    queue: Sequence[Mapping[str, Any]],
    *,
    holds: Sequence[Mapping[str, Any]],
    actions: Sequence[Mapping[str, Any]],
    free: int | None,
    frame: Mapping[str, Any],
) -> dict[str, Any]:
    """
    The digest as JSON has it, always with the same keys.

    Args:
        queue: as `fleet queue list --json` has it.
        actions: the watchdog's, newest first.
        free: how many more agents the host may have; None: could not be counted.
        frame: `at`, `since`, `unreadable`.
    """
    queued = [one for one in queue if one["kind"] == "dispatch" and one["state"] == "queued"]
    steps = sorted(((next_of(row), row) for row in rows), key=lambda one: (_ORDER.index(one[0]), one[1].since or ""))
    return {
        "v": VERSION,
        **frame,
        "agents": len(rows),
        "counts": {str(turn): sum(row.turn == turn for row in rows) for turn in Turn},
        "waiting": [
            {"id": r.id, "task_id": r.task_id, "for": str(r.reason or "somebody"), "since": r.since, "what": r.evidence}
            for r in sorted(rows, key=lambda r: r.since or "")
            if r.turn == Turn.WAITING
        ],
        "unknown": [{"id": r.id, "task_id": r.task_id, "why": r.evidence} for r in rows if r.turn == Turn.UNKNOWN],
        "stalls": [
            {"id": r.id, "task_id": r.task_id, "liveness": str(r.liveness), "why": r.why, "age_seconds": r.age_seconds}
            for r in rows
            if r.liveness in STALLED
        ],
        "handoffs": [_entry(one) for one in queue if one["kind"] == "handoff" and one["state"] == "queued"],
        "dead_letters": [_entry(one) for one in queue if one["state"] == "dead"],
        "holds": [dict(one) for one in holds],
        "watchdog": [dict(one) for one in actions],
        "next": [
            {"id": row.id, "task_id": row.task_id, "next": str(step), "command": _COMMANDS[step].format(id=row.id)}
            for step, row in steps
            if step in _COMMANDS
        ],
        "queued": len(queued),
        "free_slots": free,
        "scaling": scaling(len(queued), free, sum(row.turn == Turn.IDLE for row in rows)),
    }


def _entry(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in ("kind", "id", "task_id", "enqueued_at", "failures", "last_error")}


def ledger(rows: Sequence[Row], at: str) -> dict[str, Any]:
    """The same for a machine, in closed words."""
    return {
        "v": VERSION,
        "at": at,
        "tasks": [
            {
                "dispatch": row.dispatch_id, "agent": row.id, "generation": row.generation, "state": str(row.turn),
                "reason": str(row.reason) if row.reason else "none", "liveness": str(row.liveness),
                "handoff": row.handoff, "watchdog": row.action, "turns": row.turns, "failures": row.failures,
                "next": str(next_of(row)),
            }
            for row in rows[:MOST_TASKS]
        ],
        "left_out": max(0, len(rows) - MOST_TASKS),
    }  # fmt: skip
