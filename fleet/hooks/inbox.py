"""Handing waiting messages to the engine: which, in which words, and the note that they were handed over.

A message is marked `offered` before the hook prints it, with the turn that carries it; whether the model saw it is
decided later (formats.delivery). Clients cut what a hook injects at about 10,000 characters, so a long body becomes
a file which the injection names, and what does not fit together waits for the next chance, in order.

What Claude Code (2.1.197) was told at the end of a turn goes to the model once in that turn ("Stop hook feedback:"). In
the requests of later turns it stands twice, at the same place of the conversation: before it a reminder of the "Stop
hook blocking error". That is the client's account of what happened and no second message.
"""

from __future__ import annotations

import os

from fleet.formats import delivery, messages, texts
from fleet.formats.atomic import ensure_dir, write_file
from fleet.formats.states import MessageState
from fleet.formats.times import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout
    from fleet.formats.messages import Message

SEPARATOR = "\n\n"


def wording(layout: Layout, message: Message, inline_characters: int) -> str:
    """What is injected for *message*; writes its body to a file when it is too long."""
    whole = texts.operator_message(message.body)
    if len(whole) <= inline_characters:
        return whole
    path = os.path.join(layout.bodies, message.id + ".md")
    ensure_dir(layout.bodies)
    write_file(path, message.body.encode("utf-8", "replace"))
    return texts.operator_file(path, len(message.body))


def offer(
    layout: Layout,
    agent_id: str,
    *,
    via: str,
    turn_id: str | None,
    session_id: str,
    log: str | None,
    wall: float,
    config: dict[str, Any],
) -> tuple[str, list[str]]:
    """
    Take as many waiting messages as fit and mark them offered. The caller holds the record lock.

    Args:
        log: the path of the engine's log: where in it the answer is to be looked for is noted, too.

    Returns:
        The text to inject (empty when there is none) and the ids of its messages.
    """
    messages.import_slot(layout, agent_id, wall)
    place = delivery.place_in(log)
    limit = int(config["inline_characters"])
    parts: list[str] = []
    ids: list[str] = []
    room = limit
    for message in messages.pending(layout, agent_id):
        if message.state != MessageState.NEW:
            continue
        text = wording(layout, message, limit)
        if parts and len(text) + len(SEPARATOR) > room:
            break
        note = {"at": rfc3339(wall), "via": via, "turn_id": turn_id, "session_id": session_id, **place}
        messages.move(message, MessageState.OFFERED, offer=note)
        parts.append(text)
        ids.append(message.id)
        room -= len(text) + len(SEPARATOR)
    return SEPARATOR.join(parts), ids
