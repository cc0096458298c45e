"""What the operator is told of, and when not: from what was seen of an agent to a notice. Pure.

A state is told once, when it is entered. The same kind of an agent is not told again within the debounce, and nothing
is told in quiet hours: what was not told then is to be seen in `fleet list`, and is not told later.
"""

from __future__ import annotations

import re

from fleet.formats.enums import StrEnum
from fleet.formats.states import Reason, Turn
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fleet.model.state import State

_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
TEXT_CHARACTERS = 300


class Kind(StrEnum):
    """What a notice is about."""

    WAITING = "waiting"  #: an agent asks you something
    EXITED = "exited"  #: an engine ended by itself
    DEAD_LETTER = "dead-letter"  #: a handoff or a dispatch was given up
    HOLD = "hold"  #: begun or lifted
    WATCHDOG = "watchdog"  #: it resumed, respawned or gave something up
    STALL = "stall"  #: it would have, in its mode


class Notice(NamedTuple):
    """One thing to be told."""

    kind: Kind
    about: str  #: an agent's id, a dispatch's, or a hold's key
    title: str
    text: str
    socket: str | None = None  #: the tmux server of the agent; None: of the fleet


#: Of limits and logins the hold tells, once for the account.
_ASKS = {
    Reason.QUESTION: "asks a question",
    Reason.PERMISSION: "asks for permission",
    Reason.TRUST: "asks whether the folder is trusted",
    Reason.DIALOG: "shows a dialog",
    Reason.LOGIN: "is not logged in",
    Reason.LIMIT: "has reached a limit",
}


def told_as(state: State, *, leaving: bool, looked_at: bool, held: bool) -> str:
    """
    The name under which this state is told once; empty for one that is not told.

    Args:
        leaving: it is being stopped or replaced.
        looked_at: somebody is attached to it, and may have opened a dialog themselves.
        held: its account is on hold, or a limit begins a hold.
    """
    if state.turn == Turn.EXITED:
        return "" if leaving else "exited"
    if state.turn != Turn.WAITING:
        return ""
    if state.reason == Reason.DEAD_LETTER:
        return "dead-letter"
    if state.reason not in _ASKS or (state.reason == Reason.DIALOG and looked_at):
        return ""
    return "" if held and state.reason in (Reason.LIMIT, Reason.LOGIN) else f"waiting/{state.reason}"


def notice(name: str, agent_id: str, task: str, state: State, question: str, socket: str | None) -> Notice:
    """The notice of a state that is told as *name*."""
    if name == "exited":
        return Notice(Kind.EXITED, agent_id, f"{task} has ended", _short(state.evidence), socket)
    if name == "dead-letter":
        text = "its handoff was given up: fleet queue list"
        return Notice(Kind.DEAD_LETTER, agent_id, f"{task} needs you", text, socket)
    asks = "waits for you" if state.reason is None else _ASKS.get(state.reason, "waits for you")
    text = f"{_short(question or state.evidence)} (fleet attach {agent_id})"
    return Notice(Kind.WAITING, agent_id, f"{task} {asks}", text, socket)


def hours(text: str) -> tuple[int, int] | None:
    """`22:00-07:00` as two minutes of the day; None for anything else."""
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    return int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])


def is_quiet(span: tuple[int, int] | None, minute: int) -> bool:
    """Whether that minute of the local day lies in the quiet hours, the end excluded; they may go over midnight."""
    if span is None:
        return False
    begin, end = span
    return begin <= minute < end if begin <= end else minute >= begin or minute < end


def passes(
    one: Notice, wanted: Collection[str], last: Mapping[tuple[Kind, str], float], now: float, debounce: float
) -> bool:
    """Whether a notice is told: its kind is wanted, and the last one of it about the same is long enough ago."""
    then = last.get((one.kind, one.about))
    return str(one.kind) in wanted and (then is None or not 0 <= now - then < debounce)


def _short(text: str) -> str:
    return " ".join(text.split())[:TEXT_CHARACTERS]
