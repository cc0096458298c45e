"""Ending an engine: all processes of its session, by identity, politely first.

Every signal goes to a process whose pid and start time were looked at just before. What the agent put into sessions
of its own is not part of the engine: it is named, not ended.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from fleet.process.table import (
    Process,
    ProcessTable,
    arguments_of,
    environment_marks,
    program_of,
    read_process,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

NOT_OURS = frozenset({"tmux", "tmux: server", "tmux: client"})


def signal_session(table: ProcessTable, leader: int | None, start: str | None, number: signal.Signals) -> list[int]:
    """Send *number* to every living process of that session; the pids that got it. Safe to repeat."""
    return signal_processes(table.session(leader, start), number)


def kin(table: ProcessTable, agent_id: str, home: str, leader: int | None, program: str) -> list[Process]:
    """
    Engines of the agent in sessions of their own: its program, with its environment marks.

    A nested client in the agent's shell is one (its tools have sids of their own), and so is a conversation that the
    client moved to the background. The client's daemon is not: it may serve the person's other conversations.
    """
    found = []
    for process in table.by_pid.values():
        if process.sid == leader or process.zombie or program_of(process.pid) != program:
            continue
        marks = environment_marks(process.pid) or {}
        its_own = (marks.get("FLEET_AGENT_ID"), marks.get("FLEET_HOME")) == (agent_id, home)
        if its_own and "daemon" not in arguments_of(process.pid)[1:2]:
            found.append(process)
    return found


def signal_processes(processes: list[Process], number: signal.Signals) -> list[int]:
    """Send *number* to those very processes; the pids that got it."""
    hit = []
    for process in processes:
        now = read_process(process.pid)
        if now is None or now.start != process.start:
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
