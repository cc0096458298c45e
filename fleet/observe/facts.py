"""Gathering the facts about agents: one look at each tmux server, one at the process table, the ends of a few files."""

from __future__ import annotations

import copy
import os

from fleet.engines.accounts import account_of
from fleet.errors import BadFile, Unreachable
from fleet.formats import launch, transcript
from fleet.formats.events import HOOK_SECONDS
from fleet.formats.states import Existence
from fleet.formats.times import parse
from fleet.formats.tuples import NamedTuple
from fleet.model.holds import account_key, described, first_of, mark_of
from fleet.model.judge import judge
from fleet.model.seen import FRESH_SECONDS
from fleet.model.state import Facts, State
from fleet.process.table import ProcessTable, boot_id, lives, read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fleet.formats.layout import Layout
    from fleet.model.agent import Agent
    from fleet.model.holds import Hold
    from fleet.model.panes import Pane, Panes, Snapshot
    from fleet.model.screen import Screen
    from fleet.store.journal import Journal

REPORTS = 12  #: how many of the newest reports of hooks are looked at
LOG_TAIL_BYTES = 64 * 1024
_ENDS = frozenset({"ended", "failed", "interrupt"})
_LOG_DECIDES = frozenset({"UserPromptSubmit", "PermissionRequest", "HookActed", "PreCompact"})


class Sight(NamedTuple):
    """One agent with what was seen of it."""

    agent: Agent
    facts: Facts
    state: State
    pane: Pane | None
    account: str | None = None  #: the fingerprint of its credential (engines.accounts)
    hold: Hold | None = None  #: what keeps it from being woken or replaced


def is_of_another_boot(agent: Agent) -> bool:
    """
    Whether the machine has certainly been started anew since *agent* was.

    Where only the time of the boot is known (macOS) that cannot be said: it moves with every correction of the clock.
    """
    now = boot_id()
    return agent.boot_id is not None and agent.boot_id != now and not f"{agent.boot_id} {now}".count("boot:")


def placed(agent: Agent) -> Agent:
    """*agent* without the place in tmux that it had before a boot: another pane may have its number by now."""
    return agent._replace(pane_id=None, server_pid=None) if is_of_another_boot(agent) else agent


def newest_report(events: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """A hook's newest event, from events newest first. A notification reports nothing that has just happened."""
    reports = (e for e in events if e.get("source") == "hook" and e.get("event") != "Notification")
    return next(reports, None)


class Looker:
    """One look at this host; make a new one for the next look."""

    def __init__(
        self,
        layout: Layout,
        journal: Journal,
        panes_on: Callable[[str], Panes],
        socket: Callable[[], str],
        wall: Callable[[], float],
        screens: Callable[[], Mapping[str, Screen]] = dict,
        holds: Callable[[], Sequence[Hold]] = tuple,
    ) -> None:
        self.layout = layout
        self._read_holds = holds
        self._holds: Sequence[Hold] | None = None
        self._read_screens = screens
        self._screens: Mapping[str, Screen] | None = None
        self._wall = wall
        self._journal = journal
        self._panes_on = panes_on
        self._socket = socket
        self._snapshots: dict[str, Snapshot] = {}
        self._launches: dict[str, dict[str, Any]] = {}
        self._table: ProcessTable | None = None

    def again(self) -> Looker:
        """A new look at all but tmux: what this one or that one asked a server, both know."""
        other = copy.copy(self)
        other._table, other._screens, other._holds, other._launches = None, None, None, {}  # noqa: SLF001  # its own kind
        return other

    def launch(self, agent_id: str) -> dict[str, Any]:
        """The launch of an agent, read once, as `formats.launch.read`."""
        if agent_id not in self._launches:
            self._launches[agent_id] = launch.read(self.layout, agent_id)
        return self._launches[agent_id]

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
        """
        Whether any process of the agent's engine lives; None: could not look.

        After a boot its number may be anybody's: only the very process counts then, and no session of that number.
        """
        if agent.pid is None:
            return None
        try:
            if is_of_another_boot(agent):
                found = self.table().by_pid.get(agent.pid)
                return found is not None and not found.zombie and found.start == agent.pid_start
            if self._table is None and lives(agent.pid, agent.pid_start):
                return True  # the leader of its session: no need to look for others
            return bool(self.table().session(agent.pid, agent.pid_start))
        except Unreachable:
            return None

    def see(self, agent: Agent) -> Sight:
        """Everything known of *agent*, judged."""
        agent = placed(agent)
        snapshot = self.snapshot(agent.socket)
        pane = snapshot.of_agent(agent.id, agent.pane_id, agent.server_pid)
        existence = Existence.UNKNOWN if snapshot.error else Existence.ALIVE if pane else Existence.GONE
        events = self._events(agent.id)
        held = reports = prompted = False
        account = None
        try:
            start = self.launch(agent.id)
            reports = start.get("hooks") is True
            held = not launch.is_started(self.layout, agent.id, start["nonce"])
            prompted = start.get("prompted") is True
            account = account_of(agent.engine, start["env"])
        except (FileNotFoundError, BadFile):
            reports = agent.engine != "command"
        newest = newest_report(events)
        status, number = self.how_ended(agent, pane) if pane is not None and pane.dead else (None, None)
        hold = self.hold(agent.engine, account, agent.project)
        facts = Facts(
            pane=existence,
            pane_error=snapshot.error or "",
            pane_dead=pane.dead if pane else False,
            exit_status=status,
            exit_signal=number,
            running=self.running(agent),
            pid=agent.pid,
            held=held,
            held_for=agent.predecessor_id if held and self._is_there(agent.predecessor_id) else None,
            prompted=prompted,
            reports=reports,
            queued=os.path.exists(self.layout.entry(agent.id)),
            dead_letter=os.path.exists(self.layout.dead_entry(agent.id)),
            events=events,
            settling=self._settling(agent, newest),
            last_said=self._last_said(agent, events) if newest and newest["event"] in _LOG_DECIDES else None,
            screen=self.screen(pane) if pane is not None and not pane.dead else None,
            hold="" if hold is None else described(hold),
            hold_since=None if hold is None else hold.begun_at,
            mail=agent.inbox_pending,
            hold_over=hold is None and account is not None and self._is_over(agent, account, events),
        )
        return Sight(agent, facts, judge(facts), pane, account, hold)

    def hold(self, engine: str, account: str | None, project: str) -> Hold | None:
        """What keeps agents of that engine and account from being started or woken for that project."""
        if self._holds is None:
            self._holds = self._read_holds()
        return first_of(self._holds, engine, account, project, self._wall()) if self._holds else None

    def _is_over(self, agent: Agent, account: str, events: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the hold that the agent's last turn counted for has been lifted."""
        key = account_key(agent.engine, account)
        lasted = next((h for h in self._holds or () if h.key == key), None)
        return lasted is not None and mark_of(agent.id, events) in lasted.marks

    def _is_there(self, agent_id: str | None) -> bool:
        return agent_id is not None and os.path.exists(self.layout.record(agent_id))

    def screen(self, pane: Pane) -> Screen | None:
        """What the pane scanner saw of *pane* last; None when that is too old or of another pane."""
        if self._screens is None:
            self._screens = {s.pane_id: s for s in self._read_screens().values()}
        screen = self._screens.get(pane.pane_id)
        if screen is None or screen.server_pid != pane.server_pid:
            return None
        return screen if abs(self._wall() - screen.looked_at) <= FRESH_SECONDS else None

    def _events(self, agent_id: str) -> list[dict[str, Any]]:
        """The newest events, back to the REPORTS-th report of a hook."""
        found, reports = [], 0
        for event in self._journal.newest_first(agent_id):
            found.append(event)
            reports += event.get("source") == "hook"
            if reports >= REPORTS:
                break
        return found

    def how_ended(self, agent: Agent, pane: Pane) -> tuple[int | None, int | None]:
        """
        Exit status and signal of a dead pane's program.

        tmux 3.3a may leave it a zombie, and its status untold, until the next of its children ends (12 to 15 of 60
        runs): the process table tells it, and the server is made to notice, so that who attaches reads it there too.
        """
        if pane.dead_status is not None or pane.dead_signal is not None:
            return pane.dead_status, pane.dead_signal
        try:
            process = self.table().by_pid.get(agent.pid or 0)
        except Unreachable:
            return None, None
        if process is None or process.wait_status is None or process.start != agent.pid_start:
            return None, None
        self._panes_on(agent.socket or self._socket()).collect()
        code = os.waitstatus_to_exitcode(process.wait_status)
        return (code, None) if code >= 0 else (None, -code)

    def _settling(self, agent: Agent, newest: dict[str, object] | None) -> bool:
        """Whether the hook that reported *newest* may still be deciding: engines end one after that many seconds."""
        then = parse(newest.get("ts")) if newest and newest["event"] == "Stop" else None
        return then is not None and not agent.needs_input and self._wall() - then < HOOK_SECONDS

    def _last_said(self, agent: Agent, events: list[dict[str, object]]) -> str | None:
        path = next((e["transcript_path"] for e in events if e.get("transcript_path")), agent.transcript_path)
        since = str((newest_report(events) or {}).get("ts") or "")
        for said in transcript.backwards(agent.engine, path, LOG_TAIL_BYTES):
            if said.kind != "injected":  # the log lags behind the hooks: an end of the turn before is no end of this
                return None if said.kind in _ENDS and (said.at or "") < since else said.kind
        return None
