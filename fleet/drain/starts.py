"""Starting the dispatches that wait for their turn: by priority, as many as their batch and this host allow.

A pass runs under one lock, in the drain or in `fleet dispatch --from`. What has no room yet waits; what can never be
started is given up and waits for the operator. An entry goes when an agent with its id has a record, so a pass may be
repeated after a crash anywhere; a start that a crash cut short is first taken back by the sweep.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor

from fleet.dispatch import limits
from fleet.drain.attempts import Attempts
from fleet.errors import BadFile, FleetError, NoRoom, OnHold, Refused, Unreachable
from fleet.formats import launch, start_entry
from fleet.formats.atomic import Lock, move_no_clobber, remove_file
from fleet.formats.enums import StrEnum
from fleet.formats.states import Turn
from fleet.formats.tuples import NamedTuple
from fleet.model.orders import from_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from fleet.app import Fleet
    from fleet.dispatch.dispatcher import Dispatched
    from fleet.model.panes import Snapshot
    from fleet.observe.facts import Looker

LOCK_SECONDS = 60.0
AT_A_TIME = 4  #: starts beside each other: most of one is waiting for tmux and the disk


class Result(StrEnum):
    """What a pass led to for one entry."""

    STARTED = "started"
    WAITING = "waiting"  #: there is no room for it yet, or a hold is on
    FAILED = "failed"  #: it was given up


class Outcome(NamedTuple):
    """One entry after a pass."""

    entry: dict[str, Any]
    result: Result
    why: FleetError | None = None
    done: Dispatched | None = None  #: of a start that this pass made


class Starts:
    """The dispatches that wait."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._known: dict[str, dict[str, Any]] = {}  #: entries never change

    def waiting(self) -> list[str]:
        """Their ids."""
        return start_entry.ids(self._fleet.layout.queue)

    def entries(self) -> list[dict[str, Any]]:
        """Those that can be read, in the order of their start: priority, then age, then place in their batch."""
        found = []
        for dispatch_id in self.waiting():
            try:
                if dispatch_id not in self._known:
                    self._known[dispatch_id] = start_entry.read(self._fleet.layout.start_entry(dispatch_id))
                found.append(self._known[dispatch_id])
            except FileNotFoundError:
                continue
            except BadFile as e:
                Attempts(self._fleet.layout, dispatch_id, self._fleet.clock).note(str(e))
        return sorted(found, key=lambda e: (-e["priority"], str(e.get("enqueued_at")), e["batch"], e["place"]))

    def advance(self, told: Callable[[Outcome], None] = lambda _: None) -> list[Outcome]:
        """One pass; *told* hears of each entry as soon as it is decided."""
        outcomes: list[Outcome] = []
        with Lock(self._fleet.layout.starts_lock, LOCK_SECONDS), ThreadPoolExecutor(AT_A_TIME) as pool:
            entries = self.entries()
            room = _Room(self._fleet, entries)
            decided: list[Outcome | Future[Outcome]] = []
            for entry in entries:
                outcome = self._without_start(entry, room)
                decided.append(outcome or pool.submit(self._start, entry, room.sessions(entry), room.settled))
            for one in decided:
                outcomes.append(one.result() if isinstance(one, Future) else one)
                told(outcomes[-1])
        return outcomes

    def _without_start(self, entry: dict[str, Any], room: _Room) -> Outcome | None:
        """What becomes of an entry that is not to be started now; None for one that is, and has its room."""
        layout, agent_id = self._fleet.layout, entry["order"]["agent_id"]
        if os.path.exists(layout.record(agent_id)) or os.path.exists(layout.archived(agent_id)):
            self._done(entry["dispatch_id"])
            return Outcome(entry, Result.STARTED)
        if os.path.exists(layout.launch_file(agent_id)):
            return Outcome(entry, Result.WAITING)  # a crash cut its start short; the sweep takes it back
        full = room.full(entry)
        if full is None:
            room.take(entry)
            return None
        if full.hint:  # the host's limit, which a pass over the batch does not tell by itself
            Attempts(layout, entry["dispatch_id"], self._fleet.clock).note(str(full))
        return Outcome(entry, Result.WAITING, full)

    def _start(self, entry: dict[str, Any], sessions: Snapshot, settled: Collection[str]) -> Outcome:
        fleet, dispatch_id = self._fleet, entry["dispatch_id"]
        try:
            done = self._dispatch(entry, sessions, settled)
        except (NoRoom, OnHold, Unreachable) as e:
            Attempts(fleet.layout, dispatch_id, fleet.clock).note(str(e))
            return Outcome(entry, Result.WAITING, e)
        except FleetError as e:
            self._give_up(dispatch_id, e)
            return Outcome(entry, Result.FAILED, e)
        self._done(dispatch_id)
        return Outcome(entry, Result.STARTED, None, done)

    def _dispatch(self, entry: dict[str, Any], sessions: Snapshot, settled: Collection[str]) -> Dispatched:
        from fleet.dispatch.dispatcher import Dispatcher  # noqa: PLC0415  # paid only where it is used

        prompt = entry.get("prompt")
        raw = prompt.encode("utf-8", "surrogateescape") if isinstance(prompt, str) else None
        try:
            order = from_data(entry["order"], raw)
        except (TypeError, KeyError) as e:
            raise Refused(f"the order in its queue entry is incomplete: {e}") from e
        if not os.path.isdir(order.cwd):
            raise Refused(f"no such directory: {order.cwd}")
        return Dispatcher(self._fleet, sessions, settled).dispatch(order)

    def _done(self, dispatch_id: str) -> None:
        remove_file(self._fleet.layout.start_entry(dispatch_id))
        remove_file(self._fleet.layout.attempt(dispatch_id))
        self._known.pop(dispatch_id, None)

    def _give_up(self, dispatch_id: str, error: FleetError) -> None:
        Attempts(self._fleet.layout, dispatch_id, self._fleet.clock).note(str(error))
        move_no_clobber(self._fleet.layout.start_entry(dispatch_id), self._fleet.layout.dead_start(dispatch_id))
        self._known.pop(dispatch_id, None)


class _Room:
    """How many dispatches of each batch are alive. A dispatch in handoff counts once; what could not be seen counts."""

    def __init__(self, fleet: Fleet, entries: list[dict[str, Any]]) -> None:
        self._fleet = fleet
        journaled = launch.ids(fleet.layout)
        self._on_their_way = limits.coming(fleet)
        self.settled = {one for one in journaled if one not in self._on_their_way}  #: before the server is looked at
        newest = sorted(entries, key=lambda one: str(one.get("enqueued_at")))
        self._most: dict[str, int | None] = {one["batch"]: one["at_most"] for one in newest}  #: what was said last
        self._alive: dict[tuple[str, str], set[str]] = {}
        self._look: Looker | None = None
        self._places: int | None = None  #: sessions that this host may still have

    def full(self, entry: dict[str, Any]) -> FleetError | None:
        """Why there is no room: its batch has as many alive as it may, or the host has. None: there is."""
        most = self._most.get(entry["batch"])
        if most is not None and len(self._of(entry)) >= most:
            return NoRoom(f"{most} of its batch are alive")
        if self._places is None:
            self._places = limits.places_left(self.sessions(entry), self._fleet.settings, self._on_their_way)
        return limits.no_place(self._fleet.settings) if self._places <= 0 else None

    def sessions(self, entry: dict[str, Any]) -> Snapshot:
        """The server as it was at the beginning of the pass."""
        self._look = self._look or self._fleet.looker()
        return self._look.snapshot(entry["order"]["socket"])

    def take(self, entry: dict[str, Any]) -> None:
        """The entry has it now."""
        self._places = None if self._places is None else self._places - 1
        if self._most.get(entry["batch"]) is not None:
            self._of(entry).add(entry["dispatch_id"])

    def _of(self, entry: dict[str, Any]) -> set[str]:
        key = (entry["batch"], entry["finished"])
        if key not in self._alive:
            self._look = self._look or self._fleet.looker()
            agents = [a for a in self._fleet.agents.living().agents if a.raw.get("batch") == entry["batch"]]
            over = {Turn.EXITED, Turn.GONE} | ({Turn.IDLE} if entry["finished"] == "idle" else set())
            self._alive[key] = {a.dispatch_id for a in agents if not self._is_over(a, self._look, over)}
            for agent_id in launch.ids(self._fleet.layout):
                self._coming(agent_id, entry["batch"], self._alive[key])
        return self._alive[key]

    @staticmethod
    def _is_over(agent: Any, look: Looker, over: set[Turn]) -> bool:
        sight = look.see(agent)
        return sight.state.turn in over and not (sight.facts.queued or sight.state.background or agent.inbox_pending)

    def _coming(self, agent_id: str, batch: str, alive: set[str]) -> None:
        """A start that is journaled and has no record yet."""
        if os.path.exists(self._fleet.layout.record(agent_id)):
            return
        try:
            start = launch.read(self._fleet.layout, agent_id)
        except (FileNotFoundError, BadFile):
            return
        if start["extra"].get("batch") == batch and not os.path.exists(self._fleet.layout.archived(agent_id)):
            alive.add(start["dispatch_id"])
