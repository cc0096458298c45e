"""Ending an engine: all processes of its session, by identity, politely first.

Every signal goes to a process whose pid and start time were looked at just before. What the agent put into sessions
of its own is not part of the engine: it is named, not ended.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from fleet.process.table import Process, ProcessTable, environment_marks, read_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

NOT_OURS = frozenset({"tmux", "tmux: server", "tmux: client"})


def signal_session(table: ProcessTable, leader: int | None, start: str | None, number: signal.Signals) -> list[int]:
    """Send *number* to every living process of that session; the pids that got it. Safe to repeat."""
    hit = []
    for process in table.session(leader, start):
        now = read_process(process.pid)
        if now is None or now.start != process.start or now.sid != process.sid:
            continue
        try:
            os.kill(process.pid, number)
        except (ProcessLookupError, PermissionError):
            continue
        hit.append(process.pid)
    return hit


@dataclass(frozen=True, slots=True)
class Stray:
    """A process that the agent left in a session of its own."""

    pid: int
    name: str


def strays(table: ProcessTable, agent_id: str, home: str, leader: int | None) -> list[Stray]:
    """What carries the agent's environment marks, or descends from its engine, outside of the engine's session."""
    found: dict[int, Process] = {}
    for process in table.tree([leader] if leader else []):
        if process.sid != leader:
            found[process.pid] = process
    for process in table.by_pid.values():
        if process.sid == leader or process.pid in found:
            continue
        marks = environment_marks(process.pid)
        if marks and marks.get("FLEET_AGENT_ID") == agent_id and marks.get("FLEET_HOME") == home:
            found[process.pid] = process
    return [Stray(p.pid, p.name) for p in found.values() if not p.zombie and p.name not in NOT_OURS]
