"""Putting a message down for an agent: once for an op-id, in order, and to whoever does its work now.

    inbox/ops/<dispatch>/<sha256 of the op-id>.json    {"schema_version", "message_id", "sha256"}

The op-id is noted before the message is spooled; a crash in between is found by the next send with the same op-id,
which spools the message then, under the id that was noted.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from enum import Enum

from fleet.errors import FleetError, Refused
from fleet.formats import messages
from fleet.formats.atomic import create_file, encode, ensure_dir, read_object
from fleet.formats.record import Held
from fleet.formats.states import MessageState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.formats.layout import Layout
    from fleet.model.agent import Agent

SCHEMA_VERSION = 1
MAX_HOPS = 100
MAX_BODY_BYTES = 4 * 1024 * 1024


class Result(Enum):
    """What `send` says of a message."""

    QUEUED = "queued"  #: spooled; the drain delivers it
    DELIVERED = "delivered"  #: the model answered to the prompt that carried it
    UNCONFIRMED = "unconfirmed"  #: it cannot be decided whether the model saw it
    REFUSED = "refused"  #: not spooled


@dataclass(frozen=True, slots=True)
class Sent:
    """One message on its way."""

    message_id: str
    agent_id: str  #: where it was spooled
    dispatch_id: str
    new: bool  #: this call spooled it


def send(fleet: Fleet, agent: Agent, body: str, op_id: str | None = None) -> Sent:
    """
    Spool *body* for *agent*, or for the successor that has taken its work.

    Raises:
        Refused: the dispatch has ended, or the op-id was used for another text.
    """
    if len(body.encode("utf-8", "surrogateescape")) > MAX_BODY_BYTES:
        raise Refused(f"the message is larger than {MAX_BODY_BYTES // 1024 // 1024} MB", hint="send a file's path")
    message_id = os.urandom(8).hex()
    if op_id is not None:
        message_id = _note(fleet, agent.dispatch_id, op_id, body, message_id)
        found = where(fleet, agent.dispatch_id, message_id)
        if found is not None:
            return Sent(message_id, found[0], agent.dispatch_id, new=False)
    agent = _first(fleet, agent)
    for _ in range(MAX_HOPS):
        with Held(fleet.layout, agent.id) as held:
            if held.data is not None and held.data["successor_id"] is None:
                if op_id is not None and (found := where(fleet, agent.dispatch_id, message_id)) is not None:
                    return Sent(message_id, found[0], agent.dispatch_id, new=False)  # another call was faster
                messages.import_slot(fleet.layout, agent.id, fleet.clock.wall())
                messages.spool(fleet.layout, agent.id, message_id, body, fleet.clock.wall(), op_id=op_id)
                held.set({"inbox_pending": True})
                return Sent(message_id, agent.id, agent.dispatch_id, new=True)
        heir = fleet.agents.archived(agent.id) or agent
        heir = fleet.agents.successor(fleet.agents.get(agent.id) or heir)
        if heir.id == agent.id:
            break
        agent = heir
    raise Refused(f"agent {agent.id} has ended", hint="`fleet list` shows who is alive")


def _first(fleet: Fleet, agent: Agent) -> Agent:
    """The predecessor as long as its messages are still to go on to *agent*: a message to the latter comes behind."""
    while agent.predecessor_id is not None:
        predecessor = fleet.agents.get(agent.predecessor_id)
        if predecessor is None:
            break
        agent = predecessor
    return agent


def _note(fleet: Fleet, dispatch_id: str, op_id: str, body: str, message_id: str) -> str:
    """The message id that belongs to the op-id: the one noted first."""
    path = _op_file(fleet.layout, dispatch_id, op_id)
    ensure_dir(os.path.dirname(path))
    digest = hashlib.sha256(body.encode("utf-8", "surrogateescape")).hexdigest()
    data = {"schema_version": SCHEMA_VERSION, "message_id": message_id, "sha256": digest}
    if create_file(path, encode(data)):
        return message_id
    known = read_object(path, schema=SCHEMA_VERSION)
    if known.get("sha256") != digest:
        raise Refused(f"op-id {op_id!r} was used for another text", hint="use a new op-id for a new text")
    return str(known["message_id"])


def noted(layout: Layout, dispatch_id: str, op_id: str) -> str | None:
    """The message that an op-id stands for; None when it was never used. Raises BadFile."""
    try:
        return str(read_object(_op_file(layout, dispatch_id, op_id), schema=SCHEMA_VERSION)["message_id"])
    except FileNotFoundError:
        return None


def _op_file(layout: Layout, dispatch_id: str, op_id: str) -> str:
    name = hashlib.sha256(op_id.encode("utf-8", "surrogateescape")).hexdigest() + ".json"
    return os.path.join(layout.inbox, "ops", dispatch_id, name)


def where(fleet: Fleet, dispatch_id: str, message_id: str) -> tuple[str, messages.Message] | None:
    """In which agent's spool or archive the message lies, and the message; None when it lies nowhere."""
    # Oldest first: a message moves to a successor and never back, so none that moves meanwhile is missed.
    for agent in reversed(fleet.agents.of_dispatch(dispatch_id)):
        for folder in (fleet.layout.spool(agent), os.path.join(fleet.layout.inbox_archive, agent)):
            for name in messages.names(folder):
                if name[9:25] == message_id:
                    try:
                        return agent, messages.read(os.path.join(folder, name))
                    except FileNotFoundError:
                        return where(fleet, dispatch_id, message_id)  # it moved on meanwhile
    return None


def note(fleet: Fleet, sent: Sent) -> str | None:
    """What the drain adds to the message's result."""
    try:
        found = where(fleet, sent.dispatch_id, sent.message_id)
    except FleetError:
        return None
    return None if found is None else found[1].data.get("note")


def result(fleet: Fleet, sent: Sent) -> Result:
    """What can be said of the message now."""
    try:
        found = where(fleet, sent.dispatch_id, sent.message_id)
    except FleetError:
        return Result.UNCONFIRMED
    if found is None:
        return Result.UNCONFIRMED
    match found[1].state:
        case MessageState.DELIVERED:
            return Result.DELIVERED
        case MessageState.UNCONFIRMED:
            return Result.UNCONFIRMED
        case MessageState.RETURNED:
            return Result.REFUSED
        case MessageState.NEW | MessageState.OFFERED:
            return Result.QUEUED
