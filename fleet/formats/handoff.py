"""Producing a handoff: the document first, then the queue entry, and nothing when one is queued already.

Used by the hook (its own agent), by the drain (what a killed hook left undone) and by `fleet handoff`. What the
machine wrote into a section begins with MACHINE, so that the drain can tell it from the agent's own words and put
something better in its place before the successor starts.
"""

from __future__ import annotations

import os
import stat

from fleet.errors import BadFile
from fleet.formats import handoff_doc, queue_entry
from fleet.formats.atomic import ensure_dir, read_bytes, remove_file, write_file
from fleet.formats.whole_lines import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout

MACHINE = "_[fleet]"
NOTE = f"{MACHINE} draft:"  #: begins what is said of the agent's own draft; the drain leaves it where it stands
LAST_MESSAGE_CHARACTERS = 4000
SECTION_CHARACTERS = 20_000  #: five full sections are an eighth of a successor's context of 200,000 tokens


def machine(label: str, text: str) -> str:
    """*text* as a labelled machine fact for a section; nothing for nothing."""
    body = text.strip("\n").rstrip()
    return f"{MACHINE} {label}:_\n\n{body}" if body.strip() else ""


def whole_draft(document: str) -> str:
    """Where the whole draft lies of which the document at that path has only a part."""
    return document.removesuffix(".md") + ".draft.md"


def draft_sections(draft: str, copy: str) -> dict[str, str]:
    """
    What the agent wrote into its draft, section by section; a missing or empty draft has none.

    A section over SECTION_CHARACTERS is cut, and of a draft that cannot be used the document says so. Each says where
    the whole draft is.

    Args:
        draft: the draft's path.
        copy: where the whole draft goes when not all of it is taken.

    Raises:
        OSError: it could not be copied.
    """
    try:
        raw = read_bytes(draft)
    except FileNotFoundError:
        return {}
    except BadFile as e:
        return _unusable(e.reason, copy if _linked(draft, copy) else None)
    text = raw.decode("utf-8", "replace")
    bodies = handoff_doc.sections(text)
    long = {name: cut(body, SECTION_CHARACTERS) for name, body in bodies.items() if len(body) > SECTION_CHARACTERS}
    if not text.strip() or (bodies and not long):
        return bodies
    write_file(copy, raw)
    for name, (kept, lines, characters) in long.items():
        left = f"{lines} more lines ({characters} characters) of this section are left out here"
        bodies[name] = f"{kept.rstrip()}\n\n{NOTE} {left}; the whole draft is {copy}_"
    return bodies or _unusable("it has none of the five headings", copy)


def _unusable(why: str, copy: str | None) -> dict[str, str]:
    where = f"; it is {copy}" if copy else ""
    return {"Open Questions": f"{NOTE} the agent before you left one that could not be used: {why}{where}_"}


def _linked(draft: str, copy: str) -> bool:
    """Keep a draft that is too large to be read, whatever its size; not what is no file."""
    try:
        if not stat.S_ISREG(os.lstat(draft).st_mode):
            return False
        os.link(draft, copy)
        os.chmod(copy, 0o600)
    except OSError:
        return False
    return True


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
    ensure_dir(layout.handoffs)
    path = os.path.join(layout.handoffs, handoff_doc.new_name(agent_id, wall))
    copy, queued = whole_draft(path), False
    try:
        bodies = draft_sections(layout.draft(agent_id), copy)
        bodies.setdefault("Completed", machine("the agent's last message", last_message[-LAST_MESSAGE_CHARACTERS:]))
        if open_questions:
            own = bodies.get("Open Questions", "")
            bodies["Open Questions"] = f"{open_questions}\n\n{own}".strip()
        header = handoff_doc.header(record, wall, handoff_type, context_pct)
        write_file(path, handoff_doc.render(header, bodies))
        queued = queue_entry.enqueue(layout, queue_entry.new(record, path, wall, further))
        if not queued:
            os.unlink(path)
    finally:
        if not queued:
            remove_file(copy)
    return path if queued else None
