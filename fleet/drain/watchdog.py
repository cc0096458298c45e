"""One tick of the watchdog: look, judge, act, remember. What it looks with and acts by is a port, `Hands`.

    {"event": "start", "staleMinutes": 20, "learned": false, "samples": 0, "mode": "observe"}
    {"event": "resume" | "respawn" | "orphan", "task", "at", "attempt", "reason"?, "agent", "dispatch", "number",
     "why", "done": true, "result"}
    {"event": "unmeasured", "task", "at", "reason", "agent", "dispatch"}
    {"event": "held-back", "at", "reason"}
    {"event": "spared", "task", "at", "action", "reason", "agent", "dispatch"}
    {"event": "watch-error", "at", "message"}
    {"event": "exit", "reason": "phase-idle" | "errors" | "stopped"}

The names that the source system has are its own. `done` is false for what would have been done (`watch.mode` observe,
or a dry run); `reason` is left out for a plain stall.

An intent is written down before it is carried out, and its rung after: a kill between the two leaves a pending intent,
which the next tick finishes under the same number when it was carried out, or is still called for, and drops otherwise.
"""

from __future__ import annotations

from typing import Protocol

from fleet.errors import FleetError, Refused
from fleet.formats.times import rfc3339
from fleet.formats.tuples import NamedTuple
from fleet.model import watchdog
from fleet.model.watchdog import Action, Intent, Memory, Rules, Trouble
from fleet.store.watch import Watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from typing import Any

    from fleet.clock import Clock
    from fleet.model.watchdog import Look
    from fleet.store.watch import Cpu, WatchStore

    Event = dict[str, Any]


class Terms(NamedTuple):
    """The settings of one tick."""

    stale_minutes: float = 20.0
    learn: bool = True
    resumes: int = 2
    respawns: int = 1
    spin_failures: int = 5
    max_actions: int = 5
    act: bool = False
    dry_run: bool = False  #: nothing is remembered either


class Hands(Protocol):
    """What the watchdog looks with and acts by."""

    def observe(self, stale_seconds: float, cpu: Mapping[str, Cpu]) -> tuple[list[Look], Mapping[str, Cpu]]:
        """Every dispatch with a living agent, and the CPU times to be remembered. Raises FleetError."""

    def unreadable(self) -> Container[str]:
        """The agents whose records `observe` could not read."""

    def look_again(self, dispatch_id: str, stale_seconds: float) -> Look | None:
        """One dispatch as it is at this moment; None when it has no living agent."""

    def held(self) -> bool:
        """Whether any hold is on."""

    def was_done(self, dispatch_id: str, intent: Intent) -> str | None:
        """What is there of an act that was begun under that number, in words; None: nothing, it never happened."""

    def carry_out(self, dispatch_id: str, intent: Intent) -> str:
        """Do it, safe to repeat under the same number; what is there now, in words. Raises FleetError."""

    def tell(self, dispatch_id: str, intent: Intent, event: Mapping[str, Any]) -> None:
        """Write the event down for people, once for a number."""

    def boot_id(self) -> str:
        """What changes with every start of this machine."""


class Watchdog:
    """Ticks. Holds no state that a crash could lose."""

    def __init__(
        self, store: WatchStore, hands: Hands, clock: Clock, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._store = store
        self._hands = hands
        self._clock = clock
        self._stopping = stopping
        self._held_back: str | None = None
        self._memories: dict[str, Memory] = {}
        self._actions: list[float] = []
        self._cpu: Mapping[str, Cpu] = {}
        self._since = 0.0
        self.dispatches = 0  #: that had a living agent at the last tick

    def start(self, terms: Terms) -> Event:
        """The first line: which window is in use. Raises BadFile."""
        samples = self._store.samples()
        minutes, learned = watchdog.window_minutes(samples, terms.stale_minutes, learn=terms.learn)
        mode = "act" if terms.act and not terms.dry_run else "observe"
        shown = int(minutes) if float(minutes).is_integer() else minutes
        return {"event": "start", "staleMinutes": shown, "learned": learned, "samples": len(samples), "mode": mode}

    def tick(self, terms: Terms) -> list[Event]:
        """
        Look at everything once and do what is due; the events.

        Raises:
            Refused: another process watches right now.
            BadFile, NewerSchema: what is remembered cannot be used; nothing was done.
            FleetError: the fleet could not be looked at; nothing was done.
        """
        lock = self._store.lock()
        if not lock.try_acquire():
            lock.release()
            raise Refused("another process watches this fleet right now", hint="`fleet drain --status` names the drain")
        try:
            return self._tick(terms)
        finally:
            lock.release()

    def _tick(self, terms: Terms) -> list[Event]:
        watched, samples = self._store.read(), self._store.samples()
        minutes, _ = watchdog.window_minutes(samples, terms.stale_minutes, learn=terms.learn)
        rules = Rules(
            minutes * 60, terms.resumes, terms.respawns, terms.spin_failures, terms.max_actions,
            act=terms.act and not terms.dry_run,
        )  # fmt: skip
        before = watched.memories if watched is not None else {}
        if terms.dry_run:  # somebody asks: what was said before is said again
            before = {dispatch_id: memory._replace(told_at=None) for dispatch_id, memory in before.items()}
        looks, self._cpu = self._hands.observe(rules.window_seconds, watched.cpu if watched is not None else {})
        self.dispatches = len(looks)
        now = self._clock.wall()
        # What lies in the future was done before the clock was set back: it counts for a whole window from now.
        self._actions = [min(at, now) for at in (watched.actions if watched is not None else ())]
        self._since = watchdog.watched_since(
            watched.clocks() if watched is not None else None,
            wall=now, monotonic=self._clock.monotonic(), boot_id=self._hands.boot_id(),
        )  # fmt: skip
        # Who only speaks may speak at the first look and when asked; who acts must have watched for a window.
        since = 0.0 if terms.dry_run or (watched is None and not rules.act) else self._since
        unreadable = self._hands.unreadable()
        self._actions += [now] * watchdog.lost(before, looks, unreadable)
        step = watchdog.step(
            before, looks, rules, now=now, since=since, actions=self._actions, hold=self._hands.held(),
            unreadable=unreadable,
        )  # fmt: skip
        self._memories = dict(step.memories)
        by_id = {look.dispatch_id: look for look in looks}
        events = [self._unmeasured(by_id[one], reason, now) for one, reason in step.unmeasured.items()]
        if rules.act:
            events += self._left_over(by_id, rules, step.held_back)
        if step.held_back is not None and step.held_back != self._held_back:
            events.append({"event": "held-back", "at": rfc3339(now), "reason": step.held_back})
        self._held_back = step.held_back
        for dispatch_id, intent in step.intents.items():
            if not rules.act:
                events.append(self._would(by_id[dispatch_id], intent, now))
            elif not self._stopping():
                events += self._do(dispatch_id, intent, rules)
        if not terms.dry_run:
            self._remember()
            if step.samples:
                self._store.add_samples(step.samples)
        return events

    # acting

    def _left_over(self, looks: Mapping[str, Look], rules: Rules, held_back: str | None) -> list[Event]:
        """Finish or drop what a kill left between an intent and its rung."""
        events: list[Event] = []
        for dispatch_id, memory in list(self._memories.items()):
            intent = memory.pending
            if intent is None or dispatch_id not in looks or self._stopping():
                continue
            found = self._hands.was_done(dispatch_id, intent)
            blocked = held_back or watchdog.breaker(looks.values(), self._memories, hold=self._hands.held())
            if found is not None:
                events.append(self._finish(dispatch_id, intent, found))
            elif blocked is None:
                events += self._carry_out(dispatch_id, intent, rules)
        return events

    def _do(self, dispatch_id: str, intent: Intent, rules: Rules) -> list[Event]:
        self._memories[dispatch_id] = self._memories[dispatch_id]._replace(pending=intent)
        self._remember()
        return self._carry_out(dispatch_id, intent, rules)

    def _carry_out(self, dispatch_id: str, intent: Intent, rules: Rules) -> list[Event]:
        """Look again, act, look at what is there, remember."""
        look = self._hands.look_again(dispatch_id, rules.window_seconds)
        now = self._clock.wall()
        if look is None or not watchdog.still_called_for(intent, look, rules, now=now, since=self._since):
            self._memories[dispatch_id] = watchdog.dropped(self._memories[dispatch_id], intent)
            self._remember()
            return [self._spared(dispatch_id, intent, look)]
        try:
            result = self._hands.carry_out(dispatch_id, intent)
        except FleetError as e:
            return self._failed(dispatch_id, intent, e)
        return [self._finish(dispatch_id, intent, result)]

    def _failed(self, dispatch_id: str, intent: Intent, error: FleetError) -> list[Event]:
        """A respawn that cannot be is an orphan; anything else is tried again when its turn comes."""
        now = self._clock.wall()
        events = [
            {"event": "watch-error", "at": rfc3339(now), "message": f"{intent.action} of {intent.agent_id}: {error}"}
        ]
        if intent.action != Action.RESPAWN:
            self._memories[dispatch_id] = watchdog.dropped(self._memories[dispatch_id], intent)
            self._remember()
            return events
        orphan = intent._replace(action=Action.ORPHAN, attempt=1, why=f"{intent.why}; no respawn: {error}")
        self._memories[dispatch_id] = self._memories[dispatch_id]._replace(pending=orphan)
        self._remember()  # or a kill after it was told would have it respawned all the same
        return [*events, self._finish(dispatch_id, orphan, "you are told")]

    def _finish(self, dispatch_id: str, intent: Intent, result: str) -> Event:
        now = self._clock.wall()
        memory = self._memories[dispatch_id]
        event = self._event(dispatch_id, memory, intent, now) | {"done": True, "result": result}
        self._hands.tell(dispatch_id, intent, event)
        self._memories[dispatch_id] = watchdog.done(memory, intent, now=now)
        if intent.action != Action.ORPHAN:
            self._actions.append(now)
        self._remember()
        return event

    def _remember(self) -> None:
        self._store.write(Watched(
            self._clock.wall(), self._clock.monotonic(), self._hands.boot_id(), self._since, self._memories,
            tuple(self._actions), self._cpu,
        ))  # fmt: skip

    # saying

    def _would(self, look: Look, intent: Intent, now: float) -> Event:
        memory = self._memories[look.dispatch_id]
        self._memories[look.dispatch_id] = memory._replace(told_at=now)
        return self._event(look.dispatch_id, memory, intent, now) | {"done": False, "result": "nothing was done"}

    @staticmethod
    def _event(dispatch_id: str, memory: Memory, intent: Intent, now: float) -> Event:
        event = {"event": str(intent.action), "task": memory.task_id, "at": rfc3339(now), "attempt": intent.attempt}
        if intent.trouble != Trouble.STALLED:
            event["reason"] = str(intent.trouble)
        return event | {
            "agent": intent.agent_id,
            "dispatch": dispatch_id,
            "number": intent.number,
            "why": intent.why,
        }

    @staticmethod
    def _unmeasured(look: Look, reason: str, now: float) -> Event:
        who = {"agent": look.agent_id, "dispatch": look.dispatch_id}
        return {"event": "unmeasured", "task": look.task_id, "at": rfc3339(now), "reason": reason, **who}

    def _spared(self, dispatch_id: str, intent: Intent, look: Look | None) -> Event:
        reason = "it has no living agent any more" if look is None else look.liveness.why
        who = {"agent": intent.agent_id, "dispatch": dispatch_id}
        task = self._memories[dispatch_id].task_id
        at = rfc3339(self._clock.wall())
        return {"event": "spared", "task": task, "at": at, "action": str(intent.action), "reason": reason, **who}
