"""The launch file, `launch/<id>.json` (0600: it holds the engine's environment): how an agent is started.

It is the journal of a start: written before the session is made, read by the gate in the pane, by the drain after a
crash, and by a handoff, which gives the successor the same engine, options and environment. It goes when the record
is archived. A start that is tried again gets a new nonce; the gate and started marks carry it, so that nothing of an
earlier try can release or repeat a later one.

    {"schema_version": 1, "id", "nonce", "dispatch_id", "generation", "origin", "predecessor_id", "project",
     "task_id", "engine", "version": "2.1.197" | null, "role", "mode", "model", "options": {…}, "command": […],
     "cwd", "env": {…}, "argv": […], "prompt_at": 5 | null, "prompt_joined": false, "prompt_file": "…" | null,
     "hooks": true, "trust": false, "conversation_id", "resume": "…" | null, "socket", "session", "handoff_number",
     "last_handoff_path", "owner": {"pid", "pid_start"}, "gate_seconds", "created_at"}
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import create_file, encode, read_object, remove_file, remove_tree, write_file
from fleet.formats.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1
_TEXTS = ("nonce", "dispatch_id", "origin", "project", "task_id", "engine", "role", "mode", "cwd", "session")


def read(layout: Layout, agent_id: str) -> dict[str, Any]:
    """
    The launch of an agent.

    Raises:
        FileNotFoundError: there is none.
        BadFile, NewerSchema: it cannot be used.
    """
    path = layout.launch_file(agent_id)
    data = read_object(path, schema=SCHEMA_VERSION)
    if data.get("id") != agent_id:
        raise BadFile(path, f"it is the launch of {data.get('id')!r}")
    for name in _TEXTS:
        if not isinstance(data.get(name), str):
            raise BadFile(path, f"{name} is {data.get(name)!r}")
    env, argv = data.get("env"), data.get("argv")
    if not isinstance(env, dict) or not all(isinstance(v, str) for v in env.values()):
        raise BadFile(path, "env is not a map of texts")
    if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
        raise BadFile(path, "argv is not a list of texts")
    return data


def write(layout: Layout, data: Mapping[str, Any]) -> None:
    """Journal a start, replacing an earlier try of the same agent. Not synced: no start survives a power cut."""
    write_file(layout.launch_file(data["id"]), encode(data), sync=False)


def ids(layout: Layout) -> list[str]:
    """The agents that have a launch file."""
    try:
        names = os.listdir(layout.launch)
    except FileNotFoundError:
        return []
    return sorted(name[:8] for name in names if name.endswith(".json") and is_id(name[:8]) and len(name) == 13)


def unrecorded(layout: Layout) -> Iterator[dict[str, Any]]:
    """The journaled starts without a record. One with a record has had its session, and need not be read."""
    for agent_id in ids(layout):
        if not os.path.exists(layout.record(agent_id)):
            try:
                yield read(layout, agent_id)
            except (FileNotFoundError, BadFile):
                continue


def release(layout: Layout, agent_id: str, nonce: str) -> bool:
    """Open the gate of that very try; whether this call did it."""
    return create_file(layout.gate(agent_id, nonce), b"", sync=False)


def is_released(layout: Layout, agent_id: str, nonce: str) -> bool:
    """Whether the gate of that try is open."""
    return os.path.exists(layout.gate(agent_id, nonce))


def is_started(layout: Layout, agent_id: str, nonce: str) -> bool:
    """Whether that try has become an engine, or is just about to."""
    return os.path.exists(layout.started(agent_id, nonce))


def remove(layout: Layout, agent_id: str) -> None:
    """Remove everything of an agent's launch and its last context figure, the launch file last. Safe to repeat."""
    remove_file(layout.figure(agent_id))
    try:
        names = os.listdir(layout.launch)
    except FileNotFoundError:
        return
    for name in names:
        if name.startswith(agent_id + ".") and name != agent_id + ".json":
            path = os.path.join(layout.launch, name)
            if os.path.isdir(path) and not os.path.islink(path):
                remove_tree(path)
            else:
                remove_file(path)
    remove_file(layout.launch_file(agent_id))
