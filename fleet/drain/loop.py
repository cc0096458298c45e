"""The drain loop: the one reducer. It looks, does one step for everything that waits, and sleeps until something stirs.

A tick with nothing to do reads two folders and asks nobody. The sweep over everything runs at the start, on request,
and with the slow poll.
"""

from __future__ import annotations

import functools
import os
from concurrent.futures import Future, ThreadPoolExecutor

from fleet.drain.delivery import Deliveries
from fleet.drain.handoffs import Handoffs, Progress
from fleet.drain.requests import Requests
from fleet.drain.stops import Stops
from fleet.drain.sweep import Sweep
from fleet.drain.tally import Tally
from fleet.drain.watcher import Watcher
from fleet.errors import FleetError
from fleet.formats.ids import is_id
from fleet.log import open_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.app import Fleet
    from fleet.observe.facts import Looker

MOVING_SECONDS = 0.025  #: between two ticks while something is on its way
BLIND_SECONDS = 1.0  #: after a look that failed
TYPISTS = 8  #: panes that are typed into at the same time


class Loop:
    """Holds no state that a crash could lose. The caller holds the drain lock."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._handoffs = Handoffs(fleet)
        self._stops = Stops(fleet)
        self._deliveries = Deliveries(fleet)
        self._requests = Requests(fleet.layout)
        self._log = open_log(fleet.layout, "drain")
        self._typing: dict[str, Future[None]] = {}
        self._typists: ThreadPoolExecutor
        self._stopping = False
        self._watcher: Watcher | None = None
        self._config_seen: float | None = None
        self.tally = Tally()

    def stop(self) -> None:
        """End after the present step; may be called from a signal handler."""
        self._stopping = True
        if self._watcher is not None:
            self._watcher.wake()

    def run(self, until: Callable[[], bool] | None = None) -> Tally:
        """
        Go on until *until* holds after a tick, or `stop` is called.

        The last thing done is to ask *until* again: whatever came in while the threads ended has found a drain
        running and started none. The caller gives the lock back at once.
        """
        self._log.info("started", home=self._fleet.layout.home)
        self._run(until)
        self._log.info("ended", handoffs=self.tally.handoffs, stops=self.tally.stops, dead=self.tally.dead)
        while not (self._stopping or until is None or until()):
            self._run(until)
        return self.tally

    def _run(self, until: Callable[[], bool] | None) -> None:
        layout, clock = self._fleet.layout, self._fleet.clock
        self._typists = ThreadPoolExecutor(TYPISTS, thread_name_prefix="fleet-typist")
        try:
            with Watcher([layout.queue, layout.inbox, layout.events, layout.launch]) as self._watcher:
                next_sweep = 0.0
                while not self._stopping:
                    asked = self._requests.open()
                    if clock.monotonic() >= next_sweep or asked:
                        self.sweep()
                        next_sweep = clock.monotonic() + self._fleet.settings.number("drain.poll_seconds")
                    pause = self.tick()
                    if pause is None or pause > BLIND_SECONDS:
                        self._requests.answer(asked, self.tally)
                    if until is not None and until():
                        break
                    left = next_sweep - clock.monotonic()
                    changed = self._watcher.wait(max(0.0, left if pause is None else min(pause, left)))
                    self._stirred(changed)
        finally:
            self._watcher = None
            self._typists.shutdown(wait=True)
            self._typed()

    def is_idle(self) -> bool:
        """Whether nothing is left that a drain could do or should wait for."""
        return not (self._stops.waiting() or self._handoffs.waiting() or self._deliveries.pending())

    def is_settled(self) -> bool:
        """Whether all that is left waits for a retry, a turn to end or the operator."""
        moving = set(self._handoffs.waiting()) - self.tally.paused
        return not (self._stops.waiting() or moving or self._typing)

    def sweep(self) -> None:
        """Look after what crashes left behind, and take up a changed configuration."""
        self._reload()
        try:
            self.tally.mended += Sweep(self._fleet, self._fleet.looker()).run()
        except (FleetError, OSError) as e:
            self._log.warning("sweep failed", error=str(e))

    def _reload(self) -> None:
        path = os.path.join(self._fleet.layout.home, "config.yaml")
        seen = os.stat(path).st_mtime if os.path.exists(path) else 0.0
        if seen != self._config_seen:
            try:
                self._fleet.reload()
                self._fleet.compile_hooks()
            except FleetError as e:
                self._log.warning("configuration not taken up", error=str(e))
            self._config_seen = seen

    def tick(self) -> float | None:
        """One step for everything that waits; the seconds until the next is due, None when nothing is."""
        look = self._fleet.looker()
        pauses: list[float] = []
        stopping = self._stops.waiting()
        for agent_id in stopping:
            progress = self._guarded(agent_id, "stop", functools.partial(self._stops.advance, agent_id, look))
            self.tally.stops += progress == Progress.DONE
            pauses.append(_pause(progress))
        for agent_id in self._handoffs.waiting():
            if agent_id in stopping:
                continue
            progress = self._guarded(agent_id, "handoff", functools.partial(self._handoffs.advance, agent_id, look))
            self.tally.handoffs += progress == Progress.DONE
            self.tally.dead += progress == Progress.DEAD
            paused = self.tally.paused
            paused.add(agent_id) if progress == Progress.PAUSED else paused.discard(agent_id)
            pauses.append(_pause(progress))
        pauses += self._deliver(look)
        due = [pause for pause in pauses if pause >= 0]
        return min(due, default=None)

    def _guarded(self, agent_id: str, what: str, step: Callable[[], Progress]) -> Progress:
        """Run one step; a bug in it is logged and stops nothing else."""
        try:
            progress = step()
        except Exception as e:  # noqa: BLE001  # the drain's outer edge: one entry must not take the others down
            self._log.exception("step failed", agent=agent_id, what=what, error=str(e))
            return Progress.BLIND
        if progress in (Progress.DONE, Progress.DEAD):
            self._log.info(what, agent=agent_id, result=progress.value)
        return progress

    def _deliver(self, look: Looker) -> list[float]:
        """Hand the agents with messages to the typists; seconds until each is due again."""
        self._typed()
        pauses = []
        for agent_id in self._deliveries.waiting():
            left = self._deliveries.seconds_left(agent_id)
            if agent_id in self._typing:
                left = MOVING_SECONDS
            elif left <= 0:
                look.snapshot(None)
                self._typing[agent_id] = self._typists.submit(self._deliveries.attend, agent_id, look)
                left = MOVING_SECONDS
            pauses.append(left)
        return pauses

    def _typed(self) -> None:
        """Forget the typists that are done, and say which of them failed."""
        for agent_id, future in list(self._typing.items()):
            if future.done():
                del self._typing[agent_id]
                error = future.exception()
                if error is not None:
                    self._log.error("delivery failed", agent=agent_id, error=str(error), exc_info=error)

    def _stirred(self, changed: set[str]) -> None:
        for path in changed:
            folder, name = os.path.split(path)
            for agent_id in (name[:8], os.path.basename(folder)):
                if is_id(agent_id):
                    self._deliveries.stirred(agent_id)
            if folder == self._fleet.layout.events and is_id(name[:8]):
                self._converse(name[:8])

    def _converse(self, agent_id: str) -> None:
        """Take up the conversation that an agent's newest report names."""
        try:
            agent = self._fleet.agents.get(agent_id)
            if agent is not None and (agent.transcript_path is None or self._is_new(agent_id, agent.conversation_id)):
                look = self._fleet.looker()
                Sweep(self._fleet, look).converse(look.see(agent))
        except (FleetError, OSError) as e:
            self._log.warning("conversation not taken up", agent=agent_id, error=str(e))

    def _is_new(self, agent_id: str, known: str | None) -> bool:
        newest = next((e for e in self._fleet.journal.newest_first(agent_id) if e.get("session_id")), None)
        return newest is not None and newest["session_id"] != known


def _pause(progress: Progress) -> float:
    """Seconds until the next look; negative for none."""
    match progress:
        case Progress.MOVING:
            return MOVING_SECONDS
        case Progress.BLIND | Progress.PAUSED:
            return BLIND_SECONDS
        case _:
            return -1.0
