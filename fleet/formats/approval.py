"""A hook of Claude Code that holds a permission question, and what it is answered with, in `run/approvals`.

    <id>.<pid>.ask       {"schema_version": 1, "agent_id", "tool_name", "tool_input", "at"}, by the hook
    <id>.<pid>.lock      held by the hook for as long as it waits: whoever gets it has found that the hook is gone
    <id>.<pid>.answer    {"schema_version": 1, "behavior": "allow" | "deny"}, by `fleet approve` and `fleet deny`

Claude Code (2.1.197) shows its dialog meanwhile; a key of a person wins, and a later answer of the hook is ignored.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import Lock, encode, read_object, remove_file, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1
TIMEOUT_SECONDS = 86_400  #: how long Claude Code is told to wait for that hook; how long it holds, a setting says
ALLOW, DENY = "allow", "deny"


def stem(layout: Layout, agent_id: str, pid: int) -> str:
    """What the three paths of one hook begin with."""
    return os.path.join(layout.approvals, f"{agent_id}.{pid}")


def ask(at: str, data: dict[str, Any]) -> None:
    """Put the question down."""
    write_file(at + ".ask", encode({"schema_version": SCHEMA_VERSION, **data}), sync=False)


def asked(at: str) -> tuple[str, dict[str, Any]]:
    """The tool that a hook asks about, and what it was given; nothing where that cannot be read."""
    try:
        data = read_object(at + ".ask", schema=SCHEMA_VERSION)
    except (FileNotFoundError, BadFile):
        return "", {}
    given = data.get("tool_input")
    return str(data.get("tool_name") or ""), given if isinstance(given, dict) else {}


def answered(at: str) -> str | None:
    """What was answered; None as long as nothing was."""
    try:
        behavior = read_object(at + ".answer", schema=SCHEMA_VERSION).get("behavior")
    except (FileNotFoundError, BadFile):
        return None
    return behavior if behavior in (ALLOW, DENY) else None


def answer(at: str, behavior: str) -> None:
    """Answer it."""
    write_file(at + ".answer", encode({"schema_version": SCHEMA_VERSION, "behavior": behavior}), sync=False)


def void(at: str) -> None:
    """Take back an answer that came when its hook had just gone: another hook has its pid, and asks something else."""
    remove_file(at + ".answer")


def forget(at: str) -> None:
    """Remove what one hook left. Safe to repeat."""
    for ending in (".ask", ".answer", ".lock"):
        remove_file(at + ending)


def held(layout: Layout, agent_id: str) -> list[str]:
    """The stems of an agent's hooks that hold a question now; what dead ones left is removed."""
    try:
        names = os.listdir(layout.approvals)
    except FileNotFoundError:
        return []
    found = []
    for name in sorted(names):
        if not (name.startswith(agent_id + ".") and name.endswith(".ask")):
            continue
        at = os.path.join(layout.approvals, name.removesuffix(".ask"))
        lock = Lock(at + ".lock")
        is_gone = lock.try_acquire()
        lock.release()
        if is_gone:
            forget(at)
        else:
            found.append(at)
    return found
