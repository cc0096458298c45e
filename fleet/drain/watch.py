"""The watchdog's real eyes and hands, and its place in the drain: one thread, which no tick of the loop waits for.

A resume is a message of the normal spool, a respawn a queue entry: what carries them out is the drain, as ever. Both
are put down under a name that the number of the action gives them, so that a second try finds the first.
"""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from fleet.drain import sending
from fleet.drain.respawn import WATCHDOG_OP, respawn
from fleet.drain.watchdog import Terms, Watchdog
from fleet.errors import FleetError, NotFound
from fleet.formats import queue_entry, texts
from fleet.formats.states import Origin
from fleet.model.watchdog import Action, Look, Trouble
from fleet.observe.signs import Gatherer
from fleet.process.table import boot_id
from fleet.store.watch import WatchStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    import structlog

    from fleet.app import Fleet
    from fleet.errors import BadFile
    from fleet.model.agent import Agent
    from fleet.model.watchdog import Intent
    from fleet.observe.signs import Observation
    from fleet.store.watch import Cpu

TOLD = "Watchdog"  #: the event in an agent's log


def terms(fleet: Fleet, *, dry_run: bool = False) -> Terms:
    """The settings in force."""
    settings = fleet.settings
    return Terms(
        stale_minutes=settings.number("watch.stale_minutes"),
        learn=bool(settings["watch.learn"]),
        resumes=int(settings["watch.resumes"]),
        respawns=int(settings["watch.respawns"]),
        spin_failures=int(settings["watch.spin_failures"]),
        max_actions=int(settings["watch.max_actions"]),
        act=settings["watch.mode"] == "act",
        dry_run=dry_run,
    )


def is_on(fleet: Fleet) -> bool:
    """Whether the drain watches."""
    return bool(fleet.settings["watch.enabled"]) and fleet.settings["watch.mode"] != "off"


def gatherer(fleet: Fleet) -> Gatherer:
    """What gathers signs of life in this fleet."""
    return Gatherer(fleet.layout, fleet.environ, fleet.looker, fleet.clock.wall, fleet.clock.sleep)


class RealHands:
    """The port `watchdog.Hands` on this host."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._boot_id = boot_id()
        self.bad: tuple[BadFile, ...] = ()  #: the records that could not be read at the last look

    def observe(self, stale_seconds: float, cpu: Mapping[str, Cpu]) -> tuple[list[Look], Mapping[str, Cpu]]:
        """Every dispatch, by the agent that does its work."""
        listing = self._fleet.agents.living()
        self.bad = listing.bad
        by_dispatch: dict[str, list[Agent]] = {}
        for agent in listing.agents:
            by_dispatch.setdefault(agent.dispatch_id, []).append(agent)
        chosen = [min(agents, key=lambda a: a.generation) for agents in by_dispatch.values()]
        seen = gatherer(self._fleet).gather(
            chosen, stale_seconds=stale_seconds, everybody=listing.agents, before=cpu
        )  # fmt: skip
        return [self._look(one) for one in seen], {o.sight.agent.id: o.cpu for o in seen if o.cpu is not None}

    def unreadable(self) -> set[str]:
        """Whose records could not be read."""
        return {os.path.basename(error.path)[:8] for error in self.bad}

    def look_again(self, dispatch_id: str, stale_seconds: float) -> Look | None:
        """One dispatch."""
        listing = self._fleet.agents.living()
        agents = [a for a in listing.agents if a.dispatch_id == dispatch_id]
        if not agents:
            return None
        agent = min(agents, key=lambda a: a.generation)
        (seen,) = gatherer(self._fleet).gather([agent], stale_seconds=stale_seconds, everybody=listing.agents)
        return self._look(seen)

    def _look(self, seen: Observation) -> Look:
        agent, layout = seen.sight.agent, self._fleet.layout
        leaving = (
            agent.successor_id is not None
            or queue_entry.is_queued(layout, agent.id)
            or os.path.exists(layout.stop_order(agent.id))
        )
        return Look(
            agent.dispatch_id, agent.id, agent.task_id, seen.liveness, seen.failures, seen.command, seen.progress_at,
            leaving=leaving, blind=seen.blind, reports=seen.sight.facts.reports,
        )  # fmt: skip

    def held(self) -> bool:
        """Whether any hold is on."""
        now = self._fleet.clock.wall()
        return any(hold.is_on(now) for hold in self._fleet.holds.all().holds)

    def was_done(self, dispatch_id: str, intent: Intent) -> str | None:
        """What is there of it."""
        fleet, layout = self._fleet, self._fleet.layout
        match intent.action:
            case Action.RESUME:
                message = sending.noted(layout, dispatch_id, _op_id(intent))
                found = None if message is None else sending.where(fleet, dispatch_id, message)
                return None if found is None else f"message {message} is {found[1].state}"
            case Action.RESPAWN:
                try:
                    entry = queue_entry.read(layout.entry(intent.agent_id))
                    return f"successor {entry['new_agent_id']} comes"
                except FileNotFoundError:
                    pass
                old = fleet.agents.get(intent.agent_id) or fleet.agents.archived(intent.agent_id)
                heir = None if old is None or old.successor_id is None else fleet.agents.successor(old)
                came = heir is not None and heir.origin == Origin.RESPAWN
                return f"successor {heir.id} took over" if came and heir is not None else None
            case Action.ORPHAN:
                return "you are told" if self._told(intent) else None

    def carry_out(self, dispatch_id: str, intent: Intent) -> str:
        """Do it, and look at what is there then."""
        fleet = self._fleet
        agent = fleet.agents.get(intent.agent_id)
        if agent is None:
            raise NotFound(f"agent {intent.agent_id} has ended")
        if intent.action == Action.RESUME:
            text = texts.WATCHDOG_SPINNING if intent.trouble == Trouble.SPINNING else texts.WATCHDOG_STALLED
            sending.send(fleet, agent, text, _op_id(intent))
        elif intent.action == Action.RESPAWN:
            respawn(fleet, agent, f"{intent.trouble}: {intent.why}", at=intent.at)
        else:
            return "you are told"
        return self.was_done(dispatch_id, intent) or "nothing is left of it already"

    def tell(self, dispatch_id: str, intent: Intent, event: Mapping[str, Any]) -> None:
        """One line in the agent's event log."""
        del dispatch_id
        if self._told(intent):
            return
        fields = {k: v for k, v in event.items() if k not in ("event", "at", "agent", "dispatch", "done")}
        self._fleet.journal.tell(intent.agent_id, TOLD, action=str(intent.action), **fields)

    def _told(self, intent: Intent) -> bool:
        number = (intent.number, str(intent.action))
        events = self._fleet.journal.newest_first(intent.agent_id)
        return any((e.get("number"), e.get("action")) == number for e in events if e["event"] == TOLD)

    def boot_id(self) -> str:
        """This boot."""
        return self._boot_id


def _op_id(intent: Intent) -> str:
    """By which a message of the watchdog is known: one for each action of a dispatch."""
    return f"{WATCHDOG_OP}{intent.number}"


class DrainWatch:
    """
    The watchdog of a drain: ticks when one is due, in a thread of its own.

    Args:
        at_once: the first tick is due now; for a drain that may end soon it is due after one interval.
        told: hears of every event, in the watchdog's thread.
    """

    def __init__(
        self,
        fleet: Fleet,
        log: structlog.stdlib.BoundLogger,
        *,
        at_once: bool,
        told: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> None:
        self._fleet = fleet
        self._told = told
        self._log = log
        self._stop = threading.Event()
        self._dog = Watchdog(WatchStore(fleet.layout), RealHands(fleet), fleet.clock, self._stop.is_set)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fleet-watch")
        self._running: Future[None] | None = None
        self._last = -math.inf if at_once else fleet.clock.monotonic()  #: when the last tick began
        self._said: str | None = None

    def advance(self) -> None:
        """Begin a tick when one is due and none runs. Costs nothing else."""
        now = self._fleet.clock.monotonic()
        if now - self._last < self._interval() or (self._running is not None and not self._running.done()):
            return
        self._last = now
        if is_on(self._fleet):
            self._running = self._thread.submit(self._tick)

    def _interval(self) -> float:
        return self._fleet.settings.number("watch.interval_minutes") * 60

    def close(self) -> None:
        """Let the tick that runs end after its present step."""
        self._stop.set()
        self._thread.shutdown(wait=True)

    def _tick(self) -> None:
        try:
            for event in self._dog.tick(terms(self._fleet)):
                self._log.info("watch", **{("what" if k == "event" else k): v for k, v in event.items()})
                self._told(event)
            self._said = None
        except (FleetError, OSError) as e:
            if str(e) != self._said:  # a file that stays broken is said once
                self._log.warning("watch-error", error=str(e))
            self._said = str(e)
        except Exception as e:  # noqa: BLE001  # the drain's outer edge: a bug in the watchdog takes nothing else down
            self._log.exception("watchdog failed", error=str(e))
