"""Bringing back what ran before a reboot, the end of a tmux server or a closed laptop.

Each agent comes back as the next generation of its dispatch by a queue entry like any handoff's, with `origin` recover
and the conversation to go on with. So the commit point, what a crash leaves, and that a task never has two engines are
those of any handoff; two recoveries at once find each other's entries. What is kept in memory is only which agents
this one cares for: a second run judges anew from what is on disk, in tmux and in the process table.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from fleet.dispatch import limits
from fleet.drain import sending, successor
from fleet.drain.attempts import NO_FOLDER, Attempts
from fleet.engines.catalog import engine
from fleet.errors import BadFile, FleetError, NoRoom, Unreachable
from fleet.formats import handoff, queue_entry, texts, transcript
from fleet.formats.atomic import Lock
from fleet.formats.record import Held
from fleet.formats.states import Existence, HandoffType, Origin, Reason, Turn
from fleet.model.judge import judge
from fleet.model.outage import BACK, Fate, Remains, fate, order_of
from fleet.observe.facts import LOG_TAIL_BYTES, is_of_another_boot
from fleet.store.journal import EXITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.observe.facts import Looker, Sight

LOCK_SECONDS = 30.0
#: Reasons of a SessionEnd that nobody but the agent's own terminal gives (Claude Code 2.1.197); a hangup is `other`.
OWN_ENDS = frozenset({"prompt_input_exit", "logout", "bypass_permissions_disabled"})
#: What an agent waits for in the middle of its turn, as its hooks tell it.
DIALOGS = frozenset({Reason.PERMISSION, Reason.QUESTION, Reason.TRUST, Reason.DIALOG})
#: What the op-id of the word to an interrupted agent begins with; the agent's id follows.
OP = "fleet-recover-"


@dataclass(slots=True)
class Row:
    """One agent and what has become of it so far."""

    agent: Agent
    fate: Fate
    why: str
    conversation: str | None = None
    interrupted: bool = False  #: it was in the middle of a turn
    ordered: bool = False  #: its queue entry stands, or stood
    successor: str | None = None
    late: bool = False  #: its successor has not come to its prompt in time; somebody must look
    given_up: bool = False  #: its entry is a dead letter, which waits for the operator
    error: str | None = None

    @property
    def done(self) -> bool:
        """Whether somebody else works on its task now."""
        return self.successor is not None and not self.late and self.error is None

    @property
    def told(self) -> bool:
        """Whether it is known what has become of it."""
        return self.done or self.late or self.error is not None


class Recovery:
    """
    One run.

    Args:
        only: the ids of the agents that are meant; None: all.
    """

    def __init__(self, fleet: Fleet, only: Collection[str] | None = None) -> None:
        self._fleet = fleet
        self._only = only
        self._once: set[str] = set()  #: whom this run cared for, whatever became of that
        self.rows: list[Row] = []
        self.unreadable: list[BadFile] = []

    def look(self) -> list[Row]:
        """Judge every agent that was not judged before; those in the order in which they are brought back."""
        # Whom this run brought back it brings back once. The successor by an entry from before may have come before the
        # outage and have gone with it.
        known = {row.agent.id for row in self.rows} | {row.successor for row in self.rows if row.fate in BACK}
        look, arriving = self._fleet.looker(), self._arriving()
        listing = self._fleet.agents.living()
        self.unreadable = list(listing.bad)
        new = [
            self._judged(agent, look, arriving)
            for agent in listing.agents
            if agent.id not in known and (self._only is None or agent.id in self._only)
        ]
        new.sort(key=lambda row: order_of(row.agent.raw.get("priority"), row.agent.spawned_at, row.agent.id))
        if self._once:  # whoever came to be meanwhile is none of those that went; who runs again has come back
            cared = {*BACK, Fate.FOLLOW}
            new = [r for r in new if r.fate in cared or (r.agent.id in self._once and r.fate != Fate.RUNS)]
        self._once |= {row.agent.id for row in new}
        self.rows += new
        return new

    def advance(self) -> bool:
        """Order what there is room for; whether everything is over. Cheap while nothing changes; never waits."""
        if not self.rows and not self.look():
            return True
        waiting = [row for row in self.rows if row.fate in BACK and not row.ordered]
        if waiting:
            with Lock(self._fleet.layout.recover_lock, LOCK_SECONDS):
                room = int(self._fleet.settings["limits.recover_at_once"]) - self._coming()
                while waiting and room > 0:
                    full = self._full(waiting[0])
                    if full is not None:
                        self._leave(waiting, full)
                        break
                    row = waiting.pop(0)
                    self._order(row)
                    room -= row.fate in BACK
        over = [self._is_over(row) for row in self.rows]  # each of them notes how it went
        if waiting or not all(over):
            return False
        # A successor that had taken over before the outage may be gone as well: no entry takes care of it now.
        arriving = self._arriving()
        self.rows = [row for row in self.rows if row.fate != Fate.FOLLOW or row.told or row.agent.id in arriving]
        return not self.look()

    def absent(self) -> dict[str, str]:
        """The agents that were left alone because their folder is not there, and that folder."""
        return {row.agent.id: row.agent.cwd for row in self.rows if row.fate == Fate.NO_FOLDER}

    # judging

    def _arriving(self) -> set[str]:
        """The successors of all handoffs: whatever they are, their entry takes care of them."""
        layout, found = self._fleet.layout, set()
        for folder in (layout.queue, layout.dead):
            for entry in queue_entry.readable(folder):
                found.add(str(entry["new_agent_id"]))
        return found

    def _due(self) -> set[str]:
        """The successors that take a place by themselves: not one whose folder is waited for, nor a given-up one."""
        return {
            str(entry["new_agent_id"])
            for entry in queue_entry.readable(self._fleet.layout.queue)
            if Attempts(self._fleet.layout, entry["old_agent_id"], self._fleet.clock).since(NO_FOLDER) is None
        }

    def _judged(self, agent: Agent, look: Looker, arriving: Collection[str]) -> Row:
        fleet, layout = self._fleet, self._fleet.layout
        sight = look.see(agent)
        conversation, path = _conversation(sight)
        remains = Remains(
            here=agent.host in (None, os.uname().nodename),
            pane=sight.facts.pane,
            pane_dead=sight.facts.pane_dead,
            running=sight.facts.running if agent.pid is not None else sight.facts.pane == Existence.ALIVE,
            process=_process(agent, look),
            ended=_ended(sight),
            leaving=sight.facts.queued or agent.id in arriving or agent.successor_id is not None,
            given_up=sight.facts.dead_letter,
            stopping=os.path.exists(layout.stop_order(agent.id)),
            rebooted=is_of_another_boot(agent),
            resume=conversation is None or engine(agent.engine).resume(conversation) is not None,
            conversation=conversation,
            log=path is not None and os.path.exists(path),
            cwd=agent.cwd,
            folder=sight.facts.pane == Existence.ALIVE or not agent.cwd or successor.is_there(agent.cwd),
        )
        decided, why = fate(remains)
        row = Row(fleet.agents.get(agent.id) or agent, decided, why, conversation, _interrupted(sight, path))
        row.given_up = decided == Fate.GIVEN_UP
        return row

    # acting

    def _coming(self) -> int:
        """How many are on their way back now, by whoever; one that waits for a retry, a folder or somebody is none."""
        count = 0
        for entry in queue_entry.readable(self._fleet.layout.queue):
            if queue_entry.origin_of(entry) == Origin.RECOVER:
                attempts = Attempts(self._fleet.layout, entry["old_agent_id"], self._fleet.clock)
                waits = any(attempts.since(mark) is not None for mark in ("said_late_at", NO_FOLDER))
                count += attempts.seconds_left() <= 0 and not waits
        return count

    def _full(self, row: Row) -> NoRoom | None:
        """Why this host may not take one more agent; None: it may, or tmux did not answer, which `_order` tells."""
        fleet = self._fleet
        try:
            limits.check_memory(fleet.settings)
            limits.check_disk(fleet.layout.home, fleet.settings)
            coming = limits.coming(fleet) | self._due()
            snapshot = fleet.looker().snapshot(row.agent.socket or fleet.socket)
            limits.check_sessions(snapshot, fleet.settings, coming)
        except NoRoom as e:
            return e
        except Unreachable:
            return None
        return None

    def _leave(self, waiting: list[Row], full: NoRoom) -> None:
        """Leave them for the next run, unless a handoff is on its way, which takes two places and then one."""
        queued = queue_entry.readable(self._fleet.layout.queue)
        if not any(queue_entry.origin_of(one) != Origin.RECOVER for one in queued):
            while waiting:
                waiting.pop().error = f"{full}; `fleet recover` goes on when there is room"

    def _order(self, row: Row) -> None:
        """Look once more, then put the entry down; the caller holds the lock of recoveries."""
        fleet, row.ordered = self._fleet, True
        agent = fleet.agents.get(row.agent.id)
        if agent is None:
            row.fate, row.why = Fate.FOLLOW, "it was replaced meanwhile"
            return
        again = self._judged(agent, fleet.looker(), self._arriving())
        row.fate, row.why, row.conversation, row.given_up = again.fate, again.why, again.conversation, again.given_up
        if row.fate not in BACK:
            return
        resume = row.conversation if row.fate == Fate.RESUME else None
        try:
            if again.interrupted:
                sending.send(fleet, agent, texts.RECOVERED, f"{OP}{agent.id}")
            with Held(fleet.layout, agent.id) as held:
                if held.data is None or held.data["successor_id"] is not None:
                    row.fate, row.why = Fate.FOLLOW, "it was replaced meanwhile"
                    return
                document = handoff.produce(
                    fleet.layout,
                    held.data,
                    HandoffType.MANUAL,
                    fleet.clock.wall(),
                    context_pct=held.data["context_pct"],
                    open_questions=texts.recovery_notes(row.why, held.data["last_handoff_path"]),
                    further={"origin": Origin.RECOVER, **({"resume": resume} if resume else {})},
                )
        except FleetError as e:
            row.error = str(e)
            return
        if document is not None:
            fleet.journal.tell(agent.id, "RecoverOrdered", document=document, resume=resume, why=row.why)

    def _is_over(self, row: Row) -> bool:
        """Whether nothing more is to be waited for; notes how it went."""
        fleet, layout, agent_id = self._fleet, self._fleet.layout, row.agent.id
        if row.done or row.error is not None or row.fate not in {*BACK, Fate.FOLLOW}:
            return True
        if os.path.exists(layout.entry(agent_id)):
            attempts = Attempts(layout, agent_id, fleet.clock)
            if attempts.since(NO_FOLDER) is not None and successor.is_there(row.agent.cwd) is False:
                row.error = attempts.last_error
                return True
            row.late = attempts.since("said_late_at") is not None
            if row.late:
                row.successor = _successor(layout.entry(agent_id))
            return row.late
        row.late = False
        if os.path.exists(layout.dead_entry(agent_id)):
            row.given_up = True
            row.error = Attempts(layout, agent_id, fleet.clock).last_error or "given up"
            return True
        try:
            old = fleet.agents.archived(agent_id)
        except BadFile as e:
            row.error = str(e)
            return True
        if old is not None:
            row.successor = old.successor_id
            if old.successor_id is None:
                row.error = f"it ended meanwhile ({old.archived_cause})"
            return True
        return row.fate == Fate.FOLLOW  # a successor on its way: its predecessor's entry takes care of it


def _successor(path: str) -> str | None:
    try:
        return str(queue_entry.read(path)["new_agent_id"])
    except (FileNotFoundError, BadFile):
        return None


def _conversation(sight: Sight) -> tuple[str | None, str | None]:
    """The conversation that the engine reported last, and its log; where it never did, what the record says."""
    for event in sight.facts.events:
        if event.get("source") == "hook" and event.get("session_id"):
            path = event.get("transcript_path") or sight.agent.transcript_path
            return str(event["session_id"]), None if path is None else str(path)
    return sight.agent.conversation_id, sight.agent.transcript_path


def _process(agent: Agent, look: Looker) -> str:
    """What still runs of an agent that had a pane, in words."""
    if agent.pid is None or agent.pane_id is None:
        return ""
    try:
        pids = [one.pid for one in look.table().session(agent.pid, agent.pid_start)]
    except Unreachable:
        return ""
    if agent.pid in pids:
        return f"its engine (pid {agent.pid})"
    return f"a process of it (pid {pids[0]})" if pids else ""


def _ended(sight: Sight) -> str | None:
    """How it is known that the engine had ended by itself; None when it is not."""
    for event in sight.facts.events:
        if event["event"] == EXITED and event.get("source") == "drain":
            return f"its engine had ended before, at {event.get('ts')}"
    newest = next((e for e in sight.facts.events if e.get("source") == "hook" and e["event"] != "HookActed"), None)
    if newest is not None and newest["event"] == "SessionEnd" and newest.get("reason") in OWN_ENDS:
        return f"its engine had been left before, at {newest.get('ts')} ({newest['reason']})"
    return None


def _interrupted(sight: Sight, path: str | None) -> bool:
    """Whether a turn was running when the agent went: it is told to go on, and nobody else is."""
    events = [e for e in sight.facts.events if e["event"] != "SessionEnd"]
    facts = sight.facts._replace(
        pane=Existence.ALIVE, pane_dead=False, running=True, held=False, queued=False, dead_letter=False,
        events=events, settling=False, screen=None, last_said=None,
    )  # fmt: skip
    state = judge(facts)
    asked = state.turn == Turn.WAITING and state.reason in DIALOGS  # its question went with it
    if not asked and state.turn not in (Turn.WORKING, Turn.COMPACTING):
        return False
    for said in transcript.backwards(sight.agent.engine, path, LOG_TAIL_BYTES):
        if said.kind != "injected":
            return said.kind not in ("ended", "failed", "interrupt")
    return True
