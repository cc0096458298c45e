"""An agent as fleet thinks of it: the record of `agents/<id>.json`, frozen."""

from __future__ import annotations

from types import MappingProxyType

from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Agent(NamedTuple):
    """One engine process in one pane, for one generation of one dispatch."""

    id: str  #: 8 hex; its session is `fleet-<id>`
    dispatch_id: str  #: the order it serves, the same for all its successors
    generation: int  #: counts the agents of the dispatch, from 1
    origin: str  #: dispatch, handoff, respawn or recover
    project: str
    task_id: str
    engine: str
    role: str
    mode: str
    cwd: str
    command: tuple[str, ...]  #: the engine's command line without its prompt
    pid: int | None  #: the engine's, which is the pane's
    pid_start: str | None
    socket: str | None
    tmux_session: str
    tmux_session_id: str | None
    window_id: str | None
    pane_id: str | None
    server_pid: int | None
    boot_id: str | None
    host: str | None
    spawned_at: str | None
    handoff_number: int
    last_handoff_path: str | None  #: the document it inherited
    predecessor_id: str | None
    successor_id: str | None
    conversation_id: str | None
    transcript_path: str | None
    context_pct: float | None
    context_source: str | None
    last_activity_ts: str | None
    blocked: bool
    blocked_reason: str | None
    needs_input: bool
    inbox_pending: bool
    handoff_type: str | None
    handoff_type_at: str | None
    worktree: Mapping[str, Any] | None = None  #: path, branch, repository, base, created_branch of its own git worktree
    archived_cause: str | None = None
    archived_at: str | None = None
    raw: Mapping[str, Any] = MappingProxyType({})


_NAMES = frozenset(Agent._fields) - {"raw", "command"}


def from_record(record: Mapping[str, Any]) -> Agent:
    """An agent from a checked record."""
    known = {name: record[name] for name in _NAMES if name in record}
    return Agent(**known, command=tuple(str(part) for part in record["command"]), raw=record)
