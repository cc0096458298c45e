"""Carrying a queued handoff out: look, ask the recovery table, do one step; again until the entry is gone.

Nothing here waits. What takes time (a turn to end, a process to die, a prompt to be accepted) is looked at again in
the next tick, so that many handoffs go on side by side.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum

from fleet.dispatch import limits
from fleet.drain import enrich, settling, successor
from fleet.drain.attempts import NO_FOLDER, Attempts
from fleet.drain.ending import Ender
from fleet.drain.git_facts import GitFacts
from fleet.engines.screen import Box
from fleet.errors import BadFile, FleetError, OnHold, Refused, Unreachable
from fleet.formats import launch, queue_entry
from fleet.formats.atomic import move_no_clobber, remove_file
from fleet.formats.states import Existence, Origin, Turn
from fleet.model.panes import Duplicate
from fleet.model.recovery import New, Old, Step, next_step
from fleet.observe.facts import placed
from fleet.process.ending import strays
from fleet.store.journal import RESUMED, TAKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.model.panes import Pane
    from fleet.observe.facts import Looker

COMPOSER = "composer_seen_at"  #: the mark of a successor that shows its composer and has reported nothing
STEADY_SECONDS = 2.0  #: for as long its composer must have been there
RESUME_FAILED = "resume_failed_at"  #: the mark of an entry whose conversation could not be gone on with


class Progress(Enum):
    """What one step led to."""

    DONE = "done"  #: the entry is gone
    DEAD = "dead"  #: the entry was given up
    MOVING = "moving"  #: look again at once
    BLIND = "blind"  #: could not look; look again in a while
    PAUSED = "paused"  #: nothing to do before a retry is due or somebody acts


@dataclass(frozen=True, slots=True)
class Parties:
    """The two agents of a handoff as they are now."""

    entry: dict[str, Any]
    old: Agent | None
    old_is: Old
    new_is: New
    start: dict[str, Any] | None  #: the successor's launch
    pane: Pane | None  #: the successor's

    @property
    def old_id(self) -> str:
        """The predecessor."""
        return str(self.entry["old_agent_id"])

    @property
    def new_id(self) -> str:
        """The successor."""
        return str(self.entry["new_agent_id"])


class Handoffs:
    """The queue of handoffs."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._ender = Ender(fleet)
        self._git = GitFacts(fleet.environ)

    def waiting(self) -> list[str]:
        """The old agents of all queued handoffs."""
        try:
            names = sorted(os.listdir(self._fleet.layout.queue))
        except FileNotFoundError:
            return []
        return [old for name in names if (old := queue_entry.id_of_name(name)) is not None]

    def advance(self, old_id: str, look: Looker) -> Progress:
        """One step for one entry. A failure counts as an attempt and never reaches another entry."""
        attempts = Attempts(self._fleet.layout, old_id, self._fleet.clock)
        if attempts.seconds_left() > 0:
            return Progress.PAUSED
        try:
            entry = queue_entry.read(self._fleet.layout.entry(old_id))
            parties = self._look(entry, look, attempts)
            return self._do(parties, look, attempts)
        except FileNotFoundError:
            attempts.forget()
            return Progress.DONE
        except Unreachable as e:
            attempts.note(f"could not look: {e}")
            return Progress.BLIND
        except OnHold as e:  # it waits, however long, and loses no attempt by that
            attempts.note(str(e))
            return Progress.PAUSED
        except FleetError as e:
            return self._failed(old_id, attempts, str(e))

    # looking

    def _look(self, entry: dict[str, Any], look: Looker, attempts: Attempts) -> Parties:
        old_id, new_id = entry["old_agent_id"], entry["new_agent_id"]
        old = self._fleet.agents.get(old_id) or self._fleet.agents.archived(old_id)
        old = None if old is None else placed(old)
        gone = True if old is None else self._ender.is_gone(old, look)
        old_is = Old.UNKNOWN if gone is None else Old.GONE if gone else Old.ALIVE
        try:
            start = launch.read(self._fleet.layout, new_id)
        except FileNotFoundError:
            start = None
        socket = (start or {}).get("socket") or (old.socket if old else None)
        snapshot = look.snapshot(socket)
        pane = snapshot.of_agent(new_id)
        if snapshot.error:
            new_is = New.ACCEPTED if self._fleet.journal.accepted(new_id) else New.UNKNOWN
        else:
            new_is = self._successor(new_id, start, pane, look, attempts)
        return Parties(entry, old, old_is, new_is, start, pane)

    def _successor(
        self, new_id: str, start: dict[str, Any] | None, pane: Pane | None, look: Looker, attempts: Attempts
    ) -> New:
        if self._fleet.journal.accepted(new_id):
            return New.ACCEPTED
        record = self._fleet.agents.get(new_id)
        if start is None:
            if pane is None:
                return New.NOTHING
            raise Refused(f"a session fleet-{new_id} is there that no launch file knows", hint="end it by hand")
        started = launch.is_started(self._fleet.layout, new_id, start["nonce"])
        alive = bool(pane and not pane.dead) or bool(record and look.running(record))
        if not started:
            if pane is None and not alive:
                return New.NOTHING
            if pane is None or pane.dead:
                return New.ENDED
            return New.HELD if record is not None and record.pid == pane.pid else New.ORPHAN
        if not alive:
            return New.ENDED
        if start.get("resume") is not None:
            return self._resumed(new_id, start, pane, attempts)
        if not start.get("hooks") and pane is not None:
            self._fleet.journal.tell(new_id, TAKEN, how="running")
            return New.ACCEPTED
        return New.RUNNING

    def _resumed(self, new_id: str, start: dict[str, Any], pane: Pane | None, attempts: Attempts) -> New:
        """
        Whether an engine that goes on with a conversation stands at its prompt in it: it gets none to take.

        Codex (0.171.0) draws its composer before it finds out that there is no such conversation, and ends.
        """
        from fleet.engines.catalog import engine  # noqa: PLC0415  # paid only where it is used

        program = engine(start["engine"])
        if pane is None:
            return New.RUNNING
        announced = program.announces and start.get("hooks") is True
        if announced and not self._fleet.journal.began(new_id, start["resume"]):
            return New.RUNNING
        box = program.composer(self._fleet.panes_on(start["socket"]).capture(pane.pane_id, styled=True)).box
        if box == Box.DIALOG or (box == Box.UNKNOWN and not announced):
            return New.RUNNING
        if not announced:
            attempts.mark(COMPOSER)
            if (attempts.since(COMPOSER) or 0.0) < STEADY_SECONDS:
                return New.RUNNING
        self._fleet.journal.tell(new_id, TAKEN, how=RESUMED)
        return New.ACCEPTED

    # acting

    def _do(self, parties: Parties, look: Looker, attempts: Attempts) -> Progress:
        match next_step(parties.old_is, parties.new_is):
            case Step.WAIT:
                attempts.note("could not look: tmux or the process table did not answer")
                return Progress.BLIND
            case Step.SPAWN:
                self._spawn(parties, look, attempts)
            case Step.ADOPT:
                assert parties.start is not None
                assert parties.pane is not None
                self._fleet.starter.adopt(parties.start, parties.pane)
            case Step.END_OLD:
                self._check_hold(parties, look)
                self._end_old(parties, look, attempts, wait_for_turn=True)
            case Step.END_OLD_NOW:
                if attempts.mark("two_engines_at"):
                    self._fleet.journal.tell(parties.old_id, "TwoEngines", successor_id=parties.new_id)
                self._end_old(parties, look, attempts, wait_for_turn=False)
            case Step.OPEN:
                self._check_hold(parties, look)
                self._open(parties, look)
            case Step.AWAIT:
                return self._await(parties, attempts)
            case Step.RELAUNCH:
                return self._relaunch(parties, look, attempts)
            case Step.FINISH:
                self._finish(parties, look, attempts)
                return Progress.DONE
        return Progress.MOVING

    def _spawn(self, parties: Parties, look: Looker, attempts: Attempts) -> None:
        fleet = self._fleet
        resume = None if RESUME_FAILED in attempts.data else queue_entry.resume_of(parties.entry)
        order = successor.order_of(fleet, parties.entry, parties.old, resume)
        limits.check_hold(look, order.engine, order.env, order.project)
        plan = fleet.starter.plan(order)
        if successor.is_there(order.cwd) is False:
            attempts.mark(NO_FOLDER)
        successor.check(fleet, order)
        existence = fleet.panes_on(order.socket).existence(parties.entry["new_session"])
        if existence == Existence.UNKNOWN:
            raise Unreachable("tmux could not say whether the successor's session is there")
        if existence == Existence.ALIVE:
            return
        attempts.begin(order.agent_id)
        fleet.compile_hooks()
        start = fleet.starter.journal(order, plan)
        try:
            fleet.starter.hold(start)
        except Duplicate:
            return
        except Unreachable as e:
            raise Refused(str(e)) from e
        fleet.journal.tell(parties.old_id, "SuccessorHeld", successor_id=order.agent_id, failures=attempts.count)

    def _check_hold(self, parties: Parties, look: Looker) -> None:
        """A hold that began with the successor at its gate keeps it there, and its predecessor where that still is."""
        assert parties.start is not None
        project = "" if parties.old is None else parties.old.project
        limits.check_hold(look, parties.start["engine"], parties.start["env"], project)

    def _end_old(self, parties: Parties, look: Looker, attempts: Attempts, *, wait_for_turn: bool) -> None:
        fleet, old = self._fleet, parties.old
        assert old is not None
        if wait_for_turn and look.see(old).state.turn in (Turn.WORKING, Turn.COMPACTING):
            attempts.mark("turn_waited_since")
            if (attempts.since("turn_waited_since") or 0.0) < fleet.settings.number("handoff.turn_wait_seconds"):
                return
        self._ender.step(old, look, attempts, grace_seconds=fleet.settings.number("handoff.grace_seconds"))

    def _open(self, parties: Parties, look: Looker) -> None:
        """The document first, then the gate: never the other way round. Waits for git by looking again."""
        fleet, old, start = self._fleet, parties.old, parties.start
        assert start is not None
        if not launch.is_released(fleet.layout, parties.new_id, start["nonce"]) and old is not None:
            document = parties.entry["handoff_doc"]
            git = self._git.of(document, old.cwd)
            if git is None:
                return
            try:
                left = strays(look.table(), old.id, fleet.layout.home, old.pid)
                enrich.enrich(
                    document,
                    old,
                    self._ender.save_screen(old, look),
                    left,
                    git=git,
                    task=fleet.layout.task(old.dispatch_id),
                    operator=enrich.messages_of(fleet.layout, self._ancestors(old)),
                )
            except (BadFile, OSError) as e:
                fleet.journal.tell(parties.old_id, "NotEnriched", error=str(e))
        fleet.starter.release(start)

    def _ancestors(self, agent: Agent) -> list[str]:
        """The agents of the dispatch up to *agent*, oldest first."""
        chain = [agent.id]
        while agent.predecessor_id and agent.predecessor_id not in chain:
            chain.append(agent.predecessor_id)
            earlier = self._fleet.agents.archived(agent.predecessor_id)
            if earlier is None:
                break
            agent = earlier
        return chain[::-1]

    def _await(self, parties: Parties, attempts: Attempts) -> Progress:
        limit = self._fleet.settings.number("handoff.accept_seconds")
        attempts.mark("awaited_since")
        if (attempts.since("awaited_since") or 0.0) >= limit and attempts.mark("said_late_at"):
            text = f"the successor {parties.new_id} has not accepted its prompt within {limit:g} s"
            attempts.note(f"{text}; look at it: fleet attach {parties.new_id}")
            self._fleet.journal.tell(parties.old_id, "AcceptLate", successor_id=parties.new_id)
        return Progress.MOVING

    def _relaunch(self, parties: Parties, look: Looker, attempts: Attempts) -> Progress:
        """Clear away what ended before it accepted; the next tick finds nothing and spawns."""
        fleet = self._fleet
        record = fleet.agents.get(parties.new_id)
        screen = ""
        if record is not None:
            if not self._ender.step(record, look, attempts, grace_seconds=0):
                return Progress.MOVING
            screen = " ".join(" ".join(self._ender.save_screen(record, look)[-3:]).split())
        if parties.start is not None:
            if parties.start.get("resume") is not None and self._ended_by_itself(parties, record, look):
                attempts.mark(RESUME_FAILED)  # the next try begins from the document
            panes = fleet.panes_on(parties.start["socket"])
            panes.close(parties.pane) if parties.pane is not None else panes.end(parties.new_id)
            remove_file(fleet.layout.record(parties.new_id))
            for path in (fleet.layout.gate, fleet.layout.started):
                remove_file(path(parties.new_id, parties.start["nonce"]))
        return self._failed(
            parties.old_id, attempts, f"successor {parties.new_id} ended before it accepted its prompt: {screen}"
        )

    def _ended_by_itself(self, parties: Parties, record: Agent | None, look: Looker) -> bool:
        """Whether the engine would not go on; one that was killed, or went with its server, says nothing of that."""
        start, pane = parties.start, parties.pane
        if start is None or record is None or pane is None or not pane.dead:
            return False
        status, _ = look.how_ended(record, pane)
        return status is not None and launch.is_started(self._fleet.layout, parties.new_id, start["nonce"])

    def _finish(self, parties: Parties, look: Looker, attempts: Attempts) -> None:
        fleet, old = self._fleet, parties.old
        if old is not None:
            if fleet.agents.get(old.id) is not None:
                self._ender.end_session(old, look)
            count = settling.hand_on(fleet, old, parties.new_id)
            fleet.journal.tell(parties.new_id, "TookOver", predecessor_id=old.id, messages=count)
            recovered = queue_entry.origin_of(parties.entry) == Origin.RECOVER
            if recovered and (parties.start or {}).get("resume") is not None:
                self._keep_log(old, parties.new_id)
            cause = "recovered" if recovered else "handoff"
            settling.file_away(fleet, old.id, cause, successor_id=parties.new_id)
        remove_file(fleet.layout.entry(parties.old_id))
        attempts.forget()

    def _keep_log(self, old: Agent, new_id: str) -> None:
        """The engine's log of a conversation that goes on, for an engine that names it with its first turn only."""
        new = self._fleet.agents.get(new_id)
        path = old.transcript_path
        if new is not None and new.transcript_path is None and path and not path.startswith(self._fleet.layout.launch):
            self._fleet.agents.update(new_id, transcript_path=path)

    def _failed(self, old_id: str, attempts: Attempts, error: str) -> Progress:
        """Count, say, and give the entry up when its retries are used up."""
        fleet = self._fleet
        attempts.failed(error, fleet.settings)
        fleet.journal.tell(old_id, "HandoffFailed", attempt=attempts.count, error=error)
        if attempts.count < int(fleet.settings["handoff.max_attempts"]):
            return Progress.PAUSED
        return self.give_up(old_id)

    def give_up(self, old_id: str) -> Progress:
        """Make the entry a dead letter: the operator's turn."""
        fleet = self._fleet
        move_no_clobber(fleet.layout.entry(old_id), fleet.layout.dead_entry(old_id))
        fleet.journal.tell(old_id, "DeadLetter")
        old = fleet.agents.get(old_id)
        if old is not None and self._ender.is_gone(old, fleet.looker()) is False:
            fleet.agents.update(old_id, handoff_type=None, handoff_type_at=None)
        return Progress.DEAD
