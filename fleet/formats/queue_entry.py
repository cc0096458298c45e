"""The queue entry of a handoff, `queue/spawn-fresh-<old_id>.json`: eight keys, both ids pre-allocated.

Its removal is the commit point of the handoff. Written with schema_version 1; 1 and 2 are read (2 is the source
system's later form; keys of it that are not used here are left alone). A ninth key, `origin`, stands in an entry that
no agent and no operator asked for: respawn or recover. With the latter a tenth may stand, `resume`: the conversation
that the successor is to go on with, instead of being told to read the document.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import create_file, encode, read_object
from fleet.formats.ids import is_id, new_id, session_name
from fleet.formats.states import Origin
from fleet.formats.times import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 2
PREFIX = "spawn-fresh-"
SUFFIX = ".json"
LONGEST_CONVERSATION = 128


def id_of_name(name: str) -> str | None:
    """The old agent's id in an entry's file name, or None for any other name."""
    middle = name.removeprefix(PREFIX).removesuffix(SUFFIX)
    return middle if name == PREFIX + middle + SUFFIX and is_id(middle) else None


def new(
    record: Mapping[str, Any], document: str, wall: float, further: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """An entry that hands *record*'s work over by *document*; *further* keys say what is not as in every handoff."""
    successor = new_id()
    entry = {
        "schema_version": 1,
        "old_agent_id": record["id"],
        "handoff_doc": document,
        "project": record["project"],
        "task_id": record["task_id"],
        "new_agent_id": successor,
        "new_session": session_name(successor),
        "enqueued_at": rfc3339(wall),
    }
    return {**entry, **(further or {})}


def origin_of(entry: Mapping[str, Any]) -> Origin:
    """How the successor comes to be."""
    return next((o for o in (Origin.RESPAWN, Origin.RECOVER) if entry.get("origin") == o), Origin.HANDOFF)


def resume_of(entry: Mapping[str, Any]) -> str | None:
    """The conversation that the successor goes on with; None for none, and for what cannot be one."""
    value = entry.get("resume")
    if not isinstance(value, str) or len(value) > LONGEST_CONVERSATION or not value[:1].isalnum():
        return None  # it becomes an argument of the engine
    return value if value.isascii() and value.replace("-", "").replace("_", "").isalnum() else None


def enqueue(layout: Layout, entry: Mapping[str, Any]) -> bool:
    """Publish *entry* unless one for the same old agent is queued already; whether this call did it."""
    return create_file(layout.entry(entry["old_agent_id"]), encode(entry))


def is_queued(layout: Layout, agent_id: str) -> bool:
    """Whether a handoff of this agent is on its way or given up and waiting for the operator."""
    return is_leaving(layout, agent_id) or os.path.exists(layout.dead_entry(agent_id))


def is_leaving(layout: Layout, agent_id: str) -> bool:
    """Whether a handoff of this agent is on its way, so that its messages go to the successor."""
    return os.path.exists(layout.entry(agent_id))


def readable(folder: str) -> list[dict[str, Any]]:
    """The handoffs in a folder of the queue, `queue` or `queue/dead`, that can be read."""
    found = []
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    for name in names:
        if id_of_name(name) is not None:
            try:
                found.append(read(os.path.join(folder, name)))
            except (FileNotFoundError, BadFile):
                continue
    return found


def read(path: str) -> dict[str, Any]:
    """
    The entry at *path*, checked against its file name.

    Raises:
        FileNotFoundError: there is none (any more).
        BadFile, NewerSchema: it cannot be used; nothing in it may become a path.
    """
    data = read_object(path, schema=SCHEMA_VERSION)
    old = id_of_name(os.path.basename(path))
    if old is None or data.get("old_agent_id") != old:
        raise BadFile(path, f"old_agent_id is {data.get('old_agent_id')!r}")
    if not is_id(data.get("new_agent_id")) or data["new_agent_id"] == old:
        raise BadFile(path, f"new_agent_id is {data.get('new_agent_id')!r}")
    if data.get("new_session") != session_name(data["new_agent_id"]):
        raise BadFile(path, f"new_session is {data.get('new_session')!r}")
    document = data.get("handoff_doc")
    if not isinstance(document, str) or not os.path.isabs(document) or not _is_plain_path(document):
        raise BadFile(path, f"handoff_doc is {document!r}")
    for name in ("project", "task_id"):
        if not _is_plain_name(data.get(name)):
            raise BadFile(path, f"{name} is {data.get(name)!r}")
    return data


def _is_plain_path(text: str) -> bool:
    """Whether *text* is a path with neither detours nor characters that would break the prompt which names it."""
    return os.path.normpath(text) == text and all(c >= " " and c != "\x7f" for c in text)


def _is_plain_name(text: object) -> bool:
    return isinstance(text, str) and text not in ("", ".", "..") and "/" not in text and _is_plain_path(text)
