"""Ending one agent, a step at a time: politely, after a grace firmly, then its screen and its session.

Every call does what is due and returns whether the engine is gone; nothing waits. The marks of what was sent when
stand in the attempts file, so that another drain goes on where this one died.
"""

from __future__ import annotations

import os
import signal

from fleet.errors import Unreachable
from fleet.formats.atomic import write_file
from fleet.observe.facts import placed
from fleet.process.ending import kin, signal_processes, signal_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.drain.attempts import Attempts
    from fleet.model.agent import Agent
    from fleet.observe.facts import Looker
    from fleet.process.table import Process

SCREEN_HISTORY = 500
#: Engines whose program is theirs alone; another's interpreter may run anything of the agent's.
NATIVE = frozenset({"claude-code", "codex", "opencode"})


class Ender:
    """Ends agents."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def is_gone(self, agent: Agent, look: Looker) -> bool | None:
        """
        Whether no process of the agent's engine is left, here or in a session of its own; None: could not look.

        An agent of another dispatcher has no recorded pid: its pane's program stands for it.
        """
        if agent.pid is not None:
            running = look.running(agent)
            return None if running is None else not running and not self._kin(agent, look)
        snapshot = look.snapshot(agent.socket)
        if snapshot.error:
            return None
        pane = snapshot.of_agent(agent.id)
        return pane is None or pane.dead or not look.table().session(pane.pid, None)

    def _kin(self, agent: Agent, look: Looker) -> list[Process]:
        if agent.engine not in NATIVE or not agent.command:
            return []
        program = os.path.realpath(agent.command[0])
        return kin(look.table(), agent.id, self._fleet.layout.home, agent.pid, program)

    def step(self, agent: Agent, look: Looker, attempts: Attempts, *, grace_seconds: float) -> bool:
        """Send what is due; whether the engine is gone already."""
        gone = self.is_gone(agent, look)
        if gone is not False:
            return bool(gone)
        since = attempts.since(f"term_sent_at_{agent.id}")
        if since is None:  # marked after it: a crash between the two asks politely twice, never not at all
            self._send(agent, look, signal.SIGTERM)
            attempts.mark(f"term_sent_at_{agent.id}")
        elif since >= grace_seconds:
            self._send(agent, look, signal.SIGKILL)
            attempts.mark(f"kill_sent_at_{agent.id}")
        return False

    def _send(self, agent: Agent, look: Looker, number: signal.Signals) -> None:
        leader, start = agent.pid, agent.pid_start
        if leader is None:
            pane = look.snapshot(agent.socket).of_agent(agent.id)
            leader = pane.pid if pane else None
        hit = signal_session(look.table(), leader, start, number)
        hit += signal_processes(self._kin(agent, look), number)
        self._fleet.journal.tell(agent.id, "Signal", signal=number.name, pids=hit)

    def save_screen(self, agent: Agent, look: Looker) -> list[str]:
        """Keep the last screen of the agent's pane, if it is still there, in `screens/`; the lines."""
        path = self._fleet.layout.screen(agent.id)
        agent = placed(agent)
        pane = look.snapshot(agent.socket).of_agent(agent.id, agent.pane_id, agent.server_pid)
        if pane is not None:
            try:
                panes = self._fleet.panes_on(agent.socket or self._fleet.socket)
                lines = panes.capture(pane.pane_id, history=SCREEN_HISTORY)
            except Unreachable:
                lines = []
            if lines:
                write_file(path, "\n".join(lines).encode("utf-8", "replace") + b"\n", sync=False)
                return lines
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as f:
                return f.read().split("\n")
        return []

    def end_session(self, agent: Agent, look: Looker) -> None:
        """
        Remove the pane of an agent whose engine is gone, keeping its last screen. Safe to repeat.

        Raises:
            Unreachable: tmux could not be asked.
        """
        snapshot = look.snapshot(agent.socket)
        if snapshot.error:
            raise Unreachable(snapshot.error)
        agent = placed(agent)
        pane = snapshot.of_agent(agent.id, agent.pane_id, agent.server_pid)
        if pane is not None:
            self.save_screen(agent, look)
            self._fleet.panes_on(agent.socket or self._fleet.socket).close(pane)
