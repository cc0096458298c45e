"""What is left of an agent once its engine is gone: its messages go on or back, its record and events are filed away.

Each step can be repeated. The record is archived after its messages are gone and before its launch is removed, so
whatever a crash leaves is recognised by the next pass.
"""

from __future__ import annotations

import os

from fleet.formats import delivery, launch, messages
from fleet.formats.atomic import Lock, ensure_dir, remove_file, remove_tree, sync_dir
from fleet.formats.record import Held
from fleet.formats.states import MessageState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.model.agent import Agent

#: What becomes of a message whose agent ended; one that a crash left in a last state keeps it.
_LAST = {MessageState.NEW: MessageState.RETURNED, MessageState.OFFERED: MessageState.UNCONFIRMED}


def hand_on(fleet: Fleet, agent: Agent, successor_id: str) -> int:
    """
    Move what *agent* never got to its successor, in order; the number of messages.

    Done under both record locks. The mark of the successor comes last: only when nothing is left here may a `send`
    write to the successor itself, or it would overtake. Each message moves by one rename, behind what the successor
    has: were it there and here for a moment, a successor that took it meanwhile would get it twice.
    """
    layout = fleet.layout
    moved = 0
    with Held(layout, agent.id) as held, Lock(layout.record_lock(successor_id)):
        if held.data is not None:
            _settle_last(fleet, held.data)
        messages.import_slot(layout, agent.id, fleet.clock.wall())
        folder = layout.spool(successor_id)
        for message in messages.pending(layout, agent.id):
            if message.state == MessageState.OFFERED:
                message = messages.move(message, MessageState.NEW, offer=None)  # noqa: PLW2901
            ensure_dir(folder)
            name = f"{messages.next_sequence(layout, successor_id):08d}-{message.id}.json"
            os.replace(message.path, os.path.join(folder, name))
            moved += 1
        if moved:
            sync_dir(folder)
        held.set({"successor_id": successor_id})
    _remove_empty(layout.spool(agent.id))
    return moved


def give_back(fleet: Fleet, agent: Agent) -> int:
    """File away what *agent* never got and nobody will take on; the number of messages."""
    layout = fleet.layout
    count = 0
    with Held(layout, agent.id) as held:
        if held.data is not None:
            _settle_last(fleet, held.data)
        messages.import_slot(layout, agent.id, fleet.clock.wall())
        for message in messages.pending(layout, agent.id):
            state = _LAST.get(message.state, message.state)
            messages.archive(layout, agent.id, message, state, fleet.clock.wall(), "its agent ended")
            count += 1
    _remove_empty(layout.spool(agent.id))
    return count


def _settle_last(fleet: Fleet, data: dict[str, object]) -> None:
    """Look one last time whether the model answered to what it was offered."""
    delivery.settle(fleet.layout, data, "", None, fleet.clock.wall(), data.get("transcript_path"))


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        pass


def _remove_draft(path: str) -> None:
    """Remove what the agent put at its draft's path, were it a folder."""
    try:
        remove_file(path)
    except (IsADirectoryError, PermissionError):  # macOS says the latter
        if not os.path.isdir(path):
            raise
        remove_tree(path)


def file_away(fleet: Fleet, agent_id: str, cause: str, **changes: object) -> None:
    """Archive the record and the events and remove the launch. Safe to repeat."""
    fleet.agents.archive(agent_id, cause, fleet.clock.wall(), **changes)
    fleet.journal.archive(agent_id)
    _remove_draft(fleet.layout.draft(agent_id))
    launch.remove(fleet.layout, agent_id)
