"""Whether the model has seen a message, decided from what the engine reported and wrote. Never from typing.

A hook hands a message to the engine with a prompt (additionalContext) or at the end of a turn (a block decision).
That proves nothing: a prompt cancelled by an early Esc leaves the injected text in Claude Code's transcript and on
the chain of the next answer, and the model never sees it (2.1.197). What proves it is an answer to that very prompt.

The words of a message do not tell it from one that said the same, so it is looked for behind the place where the log
ended when the message was handed over: what a hook injects is logged afterwards, in every engine.
"""

from __future__ import annotations

import os

from fleet.formats import messages, transcript
from fleet.formats.states import MessageState
from fleet.formats.texts import operator_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from fleet.formats.layout import Layout
    from fleet.formats.messages import Message
    from fleet.formats.transcript import Said

#: Events that only an answer of the model to the prompt with that turn id can lead to.
ANSWERS = frozenset({"Stop", "StopFailure", "PreToolUse", "PostToolUse", "PermissionRequest"})
#: Events that end a turn. Another turn's id in them says that the carrying prompt is over; in a UserPromptSubmit it
#: does not: prompts that were queued fire one each, and become one turn under the last one's id (2.1.197).
TURN_ENDS = frozenset({"Stop", "StopFailure"})
SETTLED = frozenset({MessageState.DELIVERED, MessageState.UNCONFIRMED})
MARK_CHARACTERS = 120


def marks(message: Message) -> tuple[str, ...]:
    """What of a message stands literally in the engine's log when it was injected: its file's name or its beginning."""
    return message.id, operator_message(message.body[:MARK_CHARACTERS]).rstrip()


def place_in(log: object) -> dict[str, Any]:
    """Where an engine's log ends now, as an offer notes it; {} where there is none."""
    try:
        return {"log": log, "log_bytes": os.stat(log).st_size} if isinstance(log, str) and log else {}
    except OSError:
        return {}


def said_since(offer: dict[str, Any], engine: str, log: object) -> Iterator[Said]:
    """What was said since a message was handed over, newest first: all of a log that is not the one of then."""
    return transcript.backwards(engine, log, since=_end_of(offer, log))


def _end_of(offer: dict[str, Any], log: object) -> int:
    """Where *log* ended when the message was handed over; 0 when it is not the log of then."""
    at = offer.get("log_bytes")
    return max(0, at) if offer.get("log") == log and isinstance(at, int) else 0


def judge(
    offer: dict[str, Any],
    mark: tuple[str, ...],
    *,
    event: str,
    turn_id: str | None,
    said: Iterable[Said],
    logged: bool = False,
    current: bool = True,
    keeps: bool = False,
) -> MessageState:
    """
    What has become of an offered message.

    Args:
        offer: as in the spool file: "via", "turn_id".
        mark: texts that show where in *said* the message was injected.
        event: the engine's event that is being looked at, or "" for a look without one.
        turn_id: that event's turn.
        said: the conversation since the offer, newest first; an engine without a readable log has none.
        logged: that log is certainly read, also when nothing was said since.
        current: the log is known to hold all of the turn that *event* ends.
        keeps: what is logged goes out with every later request, also after an interrupt.
    """
    log = _after(mark, said, stop=offer.get("via") == "stop", logged=logged, keeps=keeps)
    same_turn = turn_id is not None and turn_id in (offer.get("turn_id"), log.turn_id)
    if log.answered or (same_turn and event in ANSWERS and log.there is not False):
        return MessageState.DELIVERED
    if event == "Stop" and current and log.there is False:
        return MessageState.NEW  # the hook died between its note and its words: the model answered without them
    if log.there and keeps:
        return MessageState.OFFERED
    if log.interrupted:
        return MessageState.UNCONFIRMED if event else MessageState.OFFERED
    if event == "Interrupt" and same_turn:
        return MessageState.NEW
    if event in TURN_ENDS and turn_id is not None and not same_turn:
        return MessageState.NEW
    return MessageState.OFFERED


class _Log:
    """What the log says of an injection."""

    __slots__ = ("answered", "interrupted", "there", "turn_id")

    def __init__(self) -> None:
        self.there: bool | None = None  #: None: the log is empty, or none that is read
        self.answered = False  #: the model spoke after it, with no other prompt between unless the log keeps all
        self.interrupted = False  #: it was interrupted there
        self.turn_id: str | None = None  #: the turn of the prompt that it came with


def _after(mark: tuple[str, ...], said: Iterable[Said], *, stop: bool, logged: bool, keeps: bool) -> _Log:
    """Read backwards to the injection, and on to the prompt that carried it; no further: the log may be long."""
    log = _Log()
    log.there = False if logged else None
    answered = interrupted = False
    for one in said:
        if log.there:
            if one.kind == "prompt":
                log.turn_id = one.turn_id
                break
            continue
        log.there = False
        if one.kind in ("assistant", "tool"):
            answered = True
        elif one.kind == "interrupt":
            interrupted = True
            answered = answered and keeps
        elif one.kind == ("feedback" if stop else "injected") and any(m in one.text for m in mark):
            log.there, log.answered, log.interrupted = True, answered, interrupted
            if stop:
                break
        elif one.kind == "prompt" and not keeps:
            answered = interrupted = False
    return log


def settle(
    layout: Layout,
    record: dict[str, Any],
    event: str,
    turn_id: str | None,
    wall: float,
    transcript_path: object,
    *,
    current: bool = True,
) -> list[tuple[str, MessageState]]:
    """
    Move every offered message of an agent to where *event* and its log say it is. The caller holds the record lock.

    Returns:
        The messages that moved, with where to.
    """
    moved: list[tuple[str, MessageState]] = []
    for message in messages.pending(layout, record["id"]):
        if message.state in SETTLED:  # a kill came between the two steps of filing it away
            messages.archive(layout, record["id"], message, message.state, wall, "")
        if message.state != MessageState.OFFERED:
            continue
        log = transcript_path or record["transcript_path"]
        state = judge(
            message.offer, marks(message), event=event, turn_id=turn_id, current=current,
            said=said_since(message.offer, record["engine"], log), logged=_end_of(message.offer, log) > 0,
            keeps=record["engine"] in transcript.KEEPS_INTERRUPTED,
        )  # fmt: skip
        if state in SETTLED:
            messages.archive(layout, record["id"], message, state, wall, f"{event or 'look'} {turn_id or ''}".strip())
        elif state == MessageState.NEW:
            messages.move(message, MessageState.NEW, offer=None)
        else:
            continue
        moved.append((message.id, state))
    return moved
