"""Gathering the facts about agents: one look at each tmux server, one at the process table, the ends of a few files."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fleet.errors import BadFile, Unreachable
from fleet.formats import launch, transcript
from fleet.formats.events import HOOK_SECONDS
from fleet.formats.states import Existence
from fleet.formats.times import parse
from fleet.model.judge import Facts, State, judge
from fleet.process.table import ProcessTable, read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fleet.formats.layout import Layout
    from fleet.model.agent import Agent
    from fleet.model.panes import Pane, Panes, Snapshot
    from fleet.store.journal import Journal

REPORTS = 12  #: how many of the newest reports of hooks are looked at
LOG_TAIL_BYTES = 64 * 1024
_ENDS = frozenset({"ended", "failed", "interrupt"})
_LOG_DECIDES = frozenset({"UserPromptSubmit", "PermissionRequest", "HookActed", "PreCompact"})


@dataclass(frozen=True, slots=True)
class Sight:
    """One agent with what was seen of it."""

    agent: Agent
    facts: Facts
    state: State
    pane: Pane | None


class Looker:
    """One look at this host; make a new one for the next look."""

    def __init__(
        self,
        layout: Layout,
        journal: Journal,
        panes_on: Callable[[str], Panes],
        socket: Callable[[], str],
        wall: Callable[[], float],
    ) -> None:
        self.layout = layout
        self._wall = wall
        self._journal = journal
        self._panes_on = panes_on
        self._socket = socket
        self._snapshots: dict[str, Snapshot] = {}
        self._table: ProcessTable | None = None
        self._table_error: Unreachable | None = None

    def snapshot(self, socket: str | None) -> Snapshot:
        """The panes of the server on *socket* (default: the configured one), asked once."""
        where = socket or self._socket()
        if where not in self._snapshots:
            self._snapshots[where] = self._panes_on(where).snapshot()
        return self._snapshots[where]

    def table(self) -> ProcessTable:
        """
        The processes, read once.

        Raises:
            Unreachable: they could not be read.
        """
        if self._table is None:
            self._table = read_table()
        return self._table

    def running(self, agent: Agent) -> bool | None:
        """Whether any process of the agent's engine lives; None: could not look."""
        if agent.pid is None:
            return None
        try:
            return bool(self.table().session(agent.pid, agent.pid_start))
        except Unreachable:
            return None

    def see(self, agent: Agent) -> Sight:
        """Everything known of *agent*, judged."""
        snapshot = self.snapshot(agent.socket)
        pane = snapshot.of_agent(agent.id, agent.pane_id, agent.server_pid)
        existence = Existence.UNKNOWN if snapshot.error else Existence.ALIVE if pane else Existence.GONE
        events = self._events(agent.id)
        held = reports = prompted = False
        try:
            start = launch.read(self.layout, agent.id)
            reports = start.get("hooks") is True
            held = not launch.is_started(self.layout, agent.id, start["nonce"])
            prompted = start.get("prompted") is True
        except (FileNotFoundError, BadFile):
            reports = agent.engine != "command"
        newest = next((e for e in events if e.get("source") == "hook"), None)
        status, number = self._how_ended(agent, pane) if pane is not None and pane.dead else (None, None)
        facts = Facts(
            pane=existence,
            pane_dead=pane.dead if pane else False,
            exit_status=status,
            exit_signal=number,
            running=self.running(agent),
            held=held,
            prompted=prompted,
            reports=reports,
            queued=os.path.exists(self.layout.entry(agent.id)),
            dead_letter=os.path.exists(self.layout.dead_entry(agent.id)),
            events=events,
            settling=self._settling(agent, newest),
            last_said=self._last_said(agent, events) if newest and newest["event"] in _LOG_DECIDES else None,
        )
        return Sight(agent, facts, judge(facts), pane)

    def _events(self, agent_id: str) -> list[dict[str, Any]]:
        """The newest events, back to the REPORTS-th report of a hook."""
        found, reports = [], 0
        for event in self._journal.newest_first(agent_id):
            found.append(event)
            reports += event.get("source") == "hook"
            if reports >= REPORTS:
                break
        return found

    def _how_ended(self, agent: Agent, pane: Pane) -> tuple[int | None, int | None]:
        """
        Exit status and signal of a dead pane's program.

        tmux 3.3a may leave it a zombie, and its status untold, until the next of its children ends (15 of 60 runs);
        the process table tells it meanwhile.
        """
        if pane.dead_status is not None or pane.dead_signal is not None:
            return pane.dead_status, pane.dead_signal
        try:
            process = self.table().by_pid.get(agent.pid or 0)
        except Unreachable:
            return None, None
        if process is None or process.wait_status is None or process.start != agent.pid_start:
            return None, None
        code = os.waitstatus_to_exitcode(process.wait_status)
        return (code, None) if code >= 0 else (None, -code)

    def _settling(self, agent: Agent, newest: dict[str, object] | None) -> bool:
        """Whether the hook that reported *newest* may still be deciding: engines end one after that many seconds."""
        then = parse(newest.get("ts")) if newest and newest["event"] == "Stop" else None
        return then is not None and not agent.needs_input and self._wall() - then < HOOK_SECONDS

    def _last_said(self, agent: Agent, events: list[dict[str, object]]) -> str | None:
        path = next((e["transcript_path"] for e in events if e.get("transcript_path")), agent.transcript_path)
        since = next((str(e["ts"]) for e in events if e.get("source") == "hook" and e.get("ts")), "")
        for said in transcript.backwards(agent.engine, path, LOG_TAIL_BYTES):
            if said.kind != "injected":  # the log lags behind the hooks: an end of the turn before is no end of this
                return None if said.kind in _ENDS and (said.at or "") < since else said.kind
        return None
