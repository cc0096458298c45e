"""Producing a handoff: the document first, then the queue entry, and nothing when one is queued already.

Used by the hook (its own agent), by the drain (what a killed hook left undone) and by `fleet handoff`. What the
machine wrote into a section begins with MACHINE, so that the drain can tell it from the agent's own words and put
something better in its place before the successor starts.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats import handoff_doc, queue_entry
from fleet.formats.atomic import ensure_dir, read_bytes, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout

MACHINE = "_[fleet]"
LAST_MESSAGE_CHARACTERS = 4000


def machine(label: str, text: str) -> str:
    """*text* as a labelled machine fact for a section; nothing for nothing."""
    body = text.strip("\n").rstrip()
    return f"{MACHINE} {label}:_\n\n{body}" if body.strip() else ""


def draft_sections(layout: Layout, agent_id: str) -> dict[str, str]:
    """What the agent wrote into its draft; a missing or unreadable draft has no sections."""
    try:
        return handoff_doc.sections(read_bytes(layout.draft(agent_id)).decode("utf-8", "replace"))
    except (FileNotFoundError, BadFile):
        return {}


def produce(
    layout: Layout,
    record: Mapping[str, Any],
    handoff_type: str,
    wall: float,
    *,
    context_pct: float | None,
    last_message: str = "",
    open_questions: str = "",
    further: Mapping[str, str] | None = None,
) -> str | None:
    """
    Write the document and queue the handoff of *record*'s agent.

    Args:
        open_questions: what stands there before what the agent itself wrote.
        further: keys of the entry beyond the eight: the successor's origin, a conversation to resume.

    Returns:
        The document's path, or None when a handoff was queued already.

    Raises:
        OSError: nothing is queued. A document may be left, which no entry names.
    """
    agent_id = record["id"]
    if queue_entry.is_queued(layout, agent_id):
        return None
    bodies = draft_sections(layout, agent_id)
    bodies.setdefault("Completed", machine("the agent's last message", last_message[-LAST_MESSAGE_CHARACTERS:]))
    if open_questions:
        own = bodies.get("Open Questions", "")
        bodies["Open Questions"] = f"{open_questions}\n\n{own}".strip()
    ensure_dir(layout.handoffs)
    path = os.path.join(layout.handoffs, handoff_doc.new_name(agent_id, wall))
    header = handoff_doc.header(record, wall, handoff_type, context_pct)
    write_file(path, handoff_doc.render(header, bodies))
    if not queue_entry.enqueue(layout, queue_entry.new(record, path, wall, further)):
        os.unlink(path)
        return None
    return path
