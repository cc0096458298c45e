"""When an agent hands itself off: pure, from what is known at the end of a turn to one decision.

Green below yellow: nothing. Yellow: ask once for a draft and MILESTONE, ask again after 30 minutes (or when the stamp
cannot be read); on MILESTONE produce. Red: produce at once. `auto-red` and `precompact` without a queued handoff are
an earlier failure and are done again. Modes plan, review and fix are told once per threshold and never handed off.
"""

from __future__ import annotations

from fleet.formats.enums import IntEnum, StrEnum
from fleet.formats.states import COMMITTED_HANDOFFS, HandoffType, Mode
from fleet.formats.times import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.usage import Usage


class Level(IntEnum):
    """How full the context is."""

    GREEN = 0
    YELLOW = 1
    RED = 2


class Act(StrEnum):
    """What the hook does about it."""

    NOTHING = "nothing"
    REQUEST = "request"  #: ask the agent for its draft
    PRODUCE = "produce"  #: write document and queue entry now
    REMIND = "remind"  #: tell an agent in a thinking mode


def level(usage: Usage | None, config: Mapping[str, Any]) -> Level:
    """The threshold that *usage* has reached, by percent or by tokens, whichever comes first."""
    if usage is None:
        return Level.GREEN
    for name, reached in (("red", Level.RED), ("yellow", Level.YELLOW)):
        percent, tokens = config[f"{name}_pct"], config[f"{name}_tokens"]
        if tokens is not None and usage.tokens >= tokens:
            return reached
        if usage.percent is not None and percent is not None and usage.percent >= percent:
            return reached
    return Level.GREEN


def decide(
    record: Mapping[str, Any],
    at: Level,
    *,
    queued: bool,
    milestone: bool,
    reminded: Level,
    wall: float,
    rerequest_seconds: float,
) -> tuple[Act, HandoffType | None]:
    """
    What to do at the end of a turn.

    Args:
        queued: a handoff of this agent is queued or given up already.
        milestone: MILESTONE stood alone on a line after the latest request.
        reminded: the highest threshold that a thinking mode was reminded of.
    """
    if queued:
        return Act.NOTHING, None
    if record["mode"] != Mode.EXECUTE:
        return (Act.REMIND, None) if at > reminded else (Act.NOTHING, None)
    kind = record["handoff_type"]
    if kind in COMMITTED_HANDOFFS:
        return Act.PRODUCE, HandoffType(kind)
    if at == Level.RED:
        return Act.PRODUCE, HandoffType.RED
    if kind == HandoffType.YELLOW:
        if milestone:
            return Act.PRODUCE, HandoffType.YELLOW
        asked = parse(record["handoff_type_at"])
        fresh = asked is not None and 0 <= wall - asked < rerequest_seconds
        return (Act.NOTHING, None) if fresh or at == Level.GREEN else (Act.REQUEST, HandoffType.YELLOW)
    if at == Level.YELLOW:
        return Act.REQUEST, HandoffType.YELLOW
    return Act.NOTHING, None


def precompact(record: Mapping[str, Any], trigger: str, *, queued: bool) -> tuple[Act, HandoffType | None]:
    """What to do just before a compaction: an automatic one ends this agent, a manual one is the operator's."""
    if queued or trigger == "manual" or record["mode"] != Mode.EXECUTE:
        return Act.NOTHING, None
    return Act.PRODUCE, HandoffType.PRECOMPACT
