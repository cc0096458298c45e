"""Whether the model has seen a message, decided from what the engine reported and wrote. Never from typing.

A hook hands a message to the engine with a prompt (additionalContext) or at the end of a turn (a block decision).
That proves nothing: a prompt cancelled by an early Esc leaves the injected text in Claude Code's transcript and on
the chain of the next answer, and the model never sees it (2.1.197). What proves it is an answer to that very prompt.
"""

from __future__ import annotations

from fleet.formats import messages, transcript
from fleet.formats.states import MessageState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from fleet.formats.layout import Layout
    from fleet.formats.messages import Message
    from fleet.formats.transcript import Said

#: Events that only an answer of the model to the prompt with that turn id can lead to.
ANSWERS = frozenset({"Stop", "StopFailure", "PreToolUse", "PostToolUse", "PermissionRequest"})
MARK_CHARACTERS = 120


def marks(message: Message) -> tuple[str, ...]:
    """What of a message stands literally in the engine's log when it was injected."""
    head = message.body[:MARK_CHARACTERS].strip()
    return tuple(mark for mark in (message.id, head) if mark)


def judge(
    offer: dict[str, Any], mark: tuple[str, ...], *, event: str, turn_id: str | None, said: Iterable[Said]
) -> MessageState:
    """
    What has become of an offered message.

    Args:
        offer: as in the spool file: "via", "turn_id".
        mark: texts that show where in *said* the message was injected.
        event: the engine's event that is being looked at, or "" for a look without one.
        turn_id: that event's turn.
        said: the conversation, newest first; read only where the event does not decide.
    """
    same_turn = turn_id is not None and offer.get("turn_id") == turn_id
    if same_turn and event in ANSWERS:
        return MessageState.DELIVERED
    seen, interrupted = _answered(mark, said, stop=offer.get("via") == "stop")
    if seen:
        return MessageState.DELIVERED
    if interrupted:
        return MessageState.UNCONFIRMED if event else MessageState.OFFERED
    if event == "UserPromptSubmit" and not same_turn:
        return MessageState.NEW
    if event == "Interrupt" and same_turn:
        return MessageState.NEW
    return MessageState.OFFERED


def _answered(mark: tuple[str, ...], said: Iterable[Said], *, stop: bool) -> tuple[bool, bool]:
    """Whether the model spoke after the injection with no other prompt between; whether it was interrupted there."""
    answered = interrupted = False
    for one in said:
        if one.kind in ("assistant", "tool"):
            answered = True
        elif one.kind == "interrupt":
            interrupted = True
            answered = False
        elif one.kind == ("feedback" if stop else "injected") and any(m in one.text for m in mark):
            return answered, interrupted
        elif one.kind == "prompt":
            answered = interrupted = False
    return False, False


def settle(
    layout: Layout, record: dict[str, Any], event: str, turn_id: str | None, wall: float, transcript_path: object
) -> list[tuple[str, MessageState]]:
    """
    Move every offered message of an agent to where *event* and its log say it is. The caller holds the record lock.

    Returns:
        The messages that moved, with where to.
    """
    moved: list[tuple[str, MessageState]] = []
    for message in messages.pending(layout, record["id"]):
        if message.state != MessageState.OFFERED:
            continue
        said = transcript.backwards(record["engine"], transcript_path or record["transcript_path"])
        state = judge(message.offer, marks(message), event=event, turn_id=turn_id, said=said)
        if state in (MessageState.DELIVERED, MessageState.UNCONFIRMED):
            messages.archive(layout, record["id"], message, state, wall, f"{event or 'look'} {turn_id or ''}".strip())
        elif state == MessageState.NEW:
            messages.move(message, MessageState.NEW, offer=None)
        else:
            continue
        moved.append((message.id, state))
    return moved
