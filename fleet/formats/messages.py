"""Messages to an agent: one JSON file each in `inbox/<id>/`, named `<8-digit sequence>-<message id>.json`.

    {"schema_version": 1, "message_id": "…16 hex…", "op_id": null, "body": "…", "created_at": "…",
     "state": "new", "offer": null}

`offer` says by what the message was handed to the engine: {"at", "via": "prompt" | "stop", "turn_id", "session_id"}.
The sequence orders a spool; a message that goes on to a successor keeps its name. All moves happen under the
agent's record lock.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile, IllegalTransition
from fleet.formats.atomic import encode, ensure_dir, move_no_clobber, read_bytes, read_object, write_file
from fleet.formats.states import MESSAGE_MOVES, MessageState
from fleet.formats.times import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1
_HEX = frozenset("0123456789abcdef")


class Message:
    """One spooled message: where it lies and what it says."""

    __slots__ = ("data", "path", "sequence")

    def __init__(self, path: str, sequence: int, data: dict[str, Any]) -> None:
        self.path = path
        self.sequence = sequence
        self.data = data

    @property
    def id(self) -> str:
        """The message id, 16 hex."""
        return str(self.data["message_id"])

    @property
    def body(self) -> str:
        """The operator's text."""
        return str(self.data["body"])

    @property
    def state(self) -> MessageState:
        """Where it is on its way."""
        return MessageState(self.data["state"])

    @property
    def offer(self) -> dict[str, Any]:
        """By what it was handed over; empty when it was not."""
        offer = self.data.get("offer")
        return offer if isinstance(offer, dict) else {}


def sequence_of(name: str) -> int | None:
    """The sequence number in a spool file's name, or None for any other name."""
    return int(name[:8]) if _is_name(name) else None


def _is_name(name: str) -> bool:
    digits, message_id = name[:8], name[9:25]
    return (
        len(name) == 30
        and (name[8], name[25:]) == ("-", ".json")
        and digits.isascii()
        and digits.isdigit()
        and _HEX.issuperset(message_id)
    )


def names(folder: str) -> list[str]:
    """The spool file names in *folder*, oldest first; none when there is no such folder."""
    try:
        return sorted(name for name in os.listdir(folder) if _is_name(name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read(path: str) -> Message:
    """
    The message at *path*.

    Raises:
        FileNotFoundError: it is not there (any more).
        BadFile, NewerSchema: it cannot be used.
    """
    name = os.path.basename(path)
    data = read_object(path, schema=SCHEMA_VERSION)
    if not _is_name(name) or data.get("message_id") != name[9:25] or not isinstance(data.get("body"), str):
        raise BadFile(path, "not a message of ours")
    state = data.get("state")
    if not isinstance(state, str) or state not in set(MessageState):
        raise BadFile(path, f"state is {state!r}")
    return Message(path, int(name[:8]), data)


def pending(layout: Layout, agent_id: str) -> Iterator[Message]:
    """The messages in an agent's spool, oldest first. An unreadable one is passed over and stays where it is."""
    folder = layout.spool(agent_id)
    for name in names(folder):
        try:
            yield read(os.path.join(folder, name))
        except (FileNotFoundError, BadFile):
            continue


def any_undelivered(layout: Layout, agent_id: str) -> bool:
    """Whether anything waits for this agent, without reading it."""
    return bool(names(layout.spool(agent_id))) or os.path.exists(layout.slot(agent_id))


def next_sequence(layout: Layout, agent_id: str) -> int:
    """One more than the highest sequence the agent ever had."""
    seen = [*names(layout.spool(agent_id)), *names(os.path.join(layout.inbox_archive, agent_id))]
    return max((sequence_of(name) or 0 for name in seen), default=0) + 1


def spool(
    layout: Layout, agent_id: str, message_id: str, body: str, wall: float, *, op_id: str | None = None
) -> Message:
    """Write a new message. The caller holds the record lock."""
    folder = layout.spool(agent_id)
    ensure_dir(folder)
    sequence = next_sequence(layout, agent_id)
    path = os.path.join(folder, f"{sequence:08d}-{message_id}.json")
    data = {
        "schema_version": SCHEMA_VERSION,
        "message_id": message_id,
        "op_id": op_id,
        "body": body,
        "created_at": rfc3339(wall),
        "state": str(MessageState.NEW),
        "offer": None,
    }
    write_file(path, encode(data))
    return Message(path, sequence, data)


def move(message: Message, state: MessageState, **fields: Any) -> Message:
    """
    Rewrite *message* in its next state.

    Raises:
        IllegalTransition: *state* cannot follow the present one.
    """
    if state not in MESSAGE_MOVES[message.state]:
        raise IllegalTransition(f"message {message.id}: {message.state} cannot become {state}")
    data = {**message.data, "state": str(state), **fields}
    write_file(message.path, encode(data))
    return Message(message.path, message.sequence, data)


def archive(
    layout: Layout, agent_id: str, message: Message, state: MessageState, wall: float, how: str, note: str | None = None
) -> None:
    """Rewrite *message* in its last state with when, how and what to add, then file it away. Safe to repeat."""
    if message.state != state:
        added = {} if note is None else {"note": note}
        message = move(message, state, settled_at=rfc3339(wall), settled_by=how, **added)
    folder = os.path.join(layout.inbox_archive, agent_id)
    ensure_dir(folder)
    move_no_clobber(message.path, os.path.join(folder, os.path.basename(message.path)))


def import_slot(layout: Layout, agent_id: str, wall: float) -> None:
    """Turn the one-slot inbox file, when there is one, into a spooled message. The caller holds the record lock."""
    path = layout.slot(agent_id)
    try:
        info = os.stat(path)
        body = read_bytes(path).decode("utf-8", "replace").strip()
    except (FileNotFoundError, BadFile):
        return
    # Named after the file's identity: a crash between the two steps below spools the same message again.
    message_id = f"{info.st_ino & 0xFFFFFFFF:08x}{info.st_mtime_ns & 0xFFFFFFFF:08x}"
    known = [*names(layout.spool(agent_id)), *names(os.path.join(layout.inbox_archive, agent_id))]
    if body and not any(name[9:25] == message_id for name in known):
        spool(layout, agent_id, message_id, body, wall)
    os.unlink(path)
