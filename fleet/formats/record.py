"""The agent record, `agents/<id>.json`, schema_version 1.

It has two kinds of writers, split by field:

* the hooks own HOOK_FIELDS and nothing else;
* fleet owns every other field it knows; a field that nobody here knows survives every write.

Both write by read-merge-replace under the record lock, and never make a record that is missing: a missing record
means that the agent was archived, and a late hook must not bring it back.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import Lock, encode, read_object, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1

HOOK_FIELDS = (
    "context_pct", "context_source", "last_activity_ts", "blocked", "blocked_reason", "blocked_since",
    "needs_input", "inbox_pending", "handoff_type", "handoff_type_at",
)  # fmt: skip

#: Fields with their JSON types; what a reader may rely on once `read` has returned.
TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,), "pid": (int, type(None)), "pid_start": (str, type(None)), "tmux_session": (str,),
    "engine": (str,), "role": (str,), "mode": (str,), "task_id": (str,), "project": (str,),
    "context_pct": (int, float, type(None)), "context_source": (str, type(None)),
    "last_activity_ts": (str, type(None)), "blocked": (bool,), "blocked_reason": (str, type(None)),
    "blocked_since": (str, type(None)), "review_round": (int, type(None)),
    "needs_input": (bool,), "inbox_pending": (bool,), "handoff_type": (str, type(None)),
    "handoff_type_at": (str, type(None)), "last_handoff_path": (str, type(None)), "handoff_number": (int,),
    "cwd": (str,), "command": (list,), "spawned_at": (str, type(None)), "predecessor_id": (str, type(None)),
    "successor_id": (str, type(None)), "dispatch_id": (str,), "generation": (int,), "origin": (str,),
    "socket": (str, type(None)), "tmux_session_id": (str, type(None)), "window_id": (str, type(None)),
    "pane_id": (str, type(None)), "server_pid": (int, type(None)), "boot_id": (str, type(None)),
    "host": (str, type(None)), "conversation_id": (str, type(None)), "transcript_path": (str, type(None)),
    "worktree": (dict, type(None)),  # only of agents that have one
}  # fmt: skip

#: What a record written by fleet-guard's own dispatcher lacks, and what its absence means.
DEFAULTS: dict[str, Any] = {
    "engine": "claude-code", "role": "executor", "mode": "execute", "project": "default", "review_round": None,
    "pid": None, "pid_start": None, "context_pct": None, "context_source": None, "last_activity_ts": None,
    "blocked": False, "blocked_reason": None, "blocked_since": None, "needs_input": False, "inbox_pending": False,
    "handoff_type": None, "handoff_type_at": None, "last_handoff_path": None, "handoff_number": 1, "command": [],
    "cwd": "", "spawned_at": None, "predecessor_id": None, "successor_id": None, "generation": 1,
    "origin": "dispatch", "socket": None, "tmux_session_id": None, "window_id": None, "pane_id": None,
    "server_pid": None, "boot_id": None, "host": None, "conversation_id": None, "transcript_path": None,
}  # fmt: skip


def check(path: str, data: dict[str, Any]) -> dict[str, Any]:
    """
    *data* with defaults filled in.

    Raises:
        BadFile: a known field has another type than it must have, or the record is another agent's.
    """
    whole = {**DEFAULTS, **data}
    whole.setdefault("task_id", whole.get("id"))
    whole.setdefault("dispatch_id", whole.get("id"))
    whole.setdefault("tmux_session", f"fleet-{whole.get('id')}")
    expected = os.path.basename(path).split(".")[0].split("-")[0]
    if whole.get("id") != expected:
        raise BadFile(path, f"it is the record of {whole.get('id')!r}")
    for name, types in TYPES.items():
        value = whole.get(name)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise BadFile(path, f"{name} is {value!r}")
    for name in ("pid", "server_pid"):
        if whole[name] is not None and whole[name] <= 0:  # a signal to these would reach a whole process group
            raise BadFile(path, f"{name} is {whole[name]!r}")
    if not all(isinstance(part, str) for part in whole["command"]):
        raise BadFile(path, f"command is {whole['command']!r}")
    whole["handoff_number"] = max(whole["handoff_number"], 1)
    return whole


def read(path: str) -> dict[str, Any]:
    """
    The record at *path*, checked, with defaults.

    Raises:
        FileNotFoundError: there is none.
        BadFile, NewerSchema: it cannot be used.
    """
    return check(path, read_object(path, schema=SCHEMA_VERSION))


class Held:
    """
    One agent's record with its lock held: read once, written at most as often as `set` is called.

    `data` is the record with defaults, or None when there is none; then `set` does nothing.
    """

    def __init__(self, layout: Layout, agent_id: str, *, sync: bool = True, timeout_seconds: float = 10.0) -> None:
        self._path = layout.record(agent_id)
        self._lock = Lock(layout.record_lock(agent_id), timeout_seconds)
        self._sync = sync
        self._raw: dict[str, Any] = {}
        self.data: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        self._lock.__enter__()
        try:
            self._raw = read_object(self._path, schema=SCHEMA_VERSION)
            self.data = check(self._path, self._raw)
        except FileNotFoundError:
            self.data = None
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def set(self, fields: Mapping[str, Any]) -> None:
        """Write *fields* over the record; nothing is written when they say what it says already."""
        if self.data is None:
            return
        new = {k: v for k, v in fields.items() if k not in self._raw or not _same(self._raw[k], v)}
        if new:
            self._raw.update(new)
            write_file(self._path, encode(self._raw), sync=self._sync)
            self.data.update(new)


def _same(old: object, new: object) -> bool:
    return type(old) is type(new) and old == new


def merge(
    layout: Layout,
    agent_id: str,
    change: Callable[[dict[str, Any]], Mapping[str, Any] | None],
    *,
    sync: bool = True,
) -> dict[str, Any] | None:
    """
    Read the record under its lock, let *change* say which fields become what, and write it back.

    Returns:
        The record as it is now, or None when there is no record (then nothing was written).
    """
    with Held(layout, agent_id, sync=sync) as held:
        if held.data is not None:
            held.set(change(held.data) or {})
        return held.data
