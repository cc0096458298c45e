"""The drain loop: the one reducer. It looks, does one step for everything that waits, and sleeps until something stirs.

A tick with nothing to do reads two folders and asks nobody. The sweep over everything runs at the start, on request,
and with the slow poll.
"""

from __future__ import annotations

import contextlib
import functools
import os
from concurrent.futures import Future, ThreadPoolExecutor

from fleet.config import user_file
from fleet.drain.attempts import LAST_ERROR_CHARACTERS, Attempts
from fleet.drain.delivery import Deliveries
from fleet.drain.handoffs import Handoffs, Progress
from fleet.drain.heed import Heed
from fleet.drain.recovering import Recovery
from fleet.drain.requests import Requests
from fleet.drain.scanning import Scanning
from fleet.drain.starts import Result, Starts
from fleet.drain.stops import Stops
from fleet.drain.successor import is_there
from fleet.drain.summary import Summary
from fleet.drain.sweep import Sweep
from fleet.drain.tally import Tally
from fleet.drain.watch import DrainWatch
from fleet.drain.watcher import Watcher
from fleet.errors import FleetError
from fleet.formats import queue_entry
from fleet.formats.ids import is_id
from fleet.log import open_log
from fleet.model.outage import Fate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.app import Fleet
    from fleet.drain.starts import Outcome
    from fleet.observe.facts import Looker

MOVING_SECONDS = 0.025  #: between two ticks while something is on its way
BLIND_SECONDS = 1.0  #: after a look that failed
ROOM_SECONDS = 2.0  #: between two looks for room for what waits to be started
TYPISTS = 8  #: panes that are typed into at the same time


class Loop:
    """Holds no state that a crash could lose. The caller holds the drain lock."""

    def __init__(self, fleet: Fleet, *, recover: bool = False) -> None:
        self._fleet = fleet
        self._handoffs = Handoffs(fleet)
        self._stops = Stops(fleet)
        self._starts = Starts(fleet)
        self._deliveries = Deliveries(fleet)
        self._requests = Requests(fleet.layout)
        self._summary = Summary(fleet)
        self._recovery = Recovery(fleet) if recover else None
        self._absent: dict[str, str] = {}  # whom the recovery left alone, and the folder that is not there
        self._log = open_log(fleet.layout, "drain")
        self._heed = Heed(fleet, self._log)
        self._scanning: Scanning | None = None
        self._typing: dict[str, Future[None]] = {}
        self._typists: ThreadPoolExecutor
        self._starting: Future[list[Outcome]] | None = None
        self._stopping = False
        self._watcher: Watcher | None = None
        self._config = user_file(fleet.layout)
        self._config_seen: list[int] | None = None
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
        watch = DrainWatch(self._fleet, self._log, at_once=until is None, told=self._heed.notifier.watchdog)
        try:
            folders = [layout.queue, layout.inbox, layout.events, layout.launch]
            with Watcher(folders, [self._config, os.path.realpath(self._config)]) as self._watcher:
                next_sweep = 0.0
                if until is None:
                    self._scanning = Scanning(self._fleet, self._log, self._watcher.wake)
                    self._scanning.start()
                while not self._stopping:
                    asked = self._requests.open()
                    if clock.monotonic() >= next_sweep or asked:
                        self.sweep()
                        self._recall()
                        next_sweep = clock.monotonic() + self._fleet.settings.number("drain.poll_seconds")
                    self._recover()
                    watch.advance()
                    pause = self.tick()
                    if pause is None or pause > BLIND_SECONDS or self.is_settled():
                        self._requests.answer(asked, self.tally)
                    if until is not None and until():
                        break
                    left = min(next_sweep - clock.monotonic(), self._summarise())
                    changed = self._watcher.wait(max(0.0, left if pause is None else min(pause, left)))
                    self._stirred(changed)
        finally:
            if self._scanning is not None:
                self._scanning.stop()
            self._watcher = None
            watch.close()
            self._typists.shutdown(wait=True)
            self._typed()
            self._summarise(last=True)
            self._heed.notifier.close()

    def is_idle(self) -> bool:
        """Whether nothing is left that a drain could do or should wait for."""
        if self._recovery is not None:
            return False
        waiting = self._stops.waiting() or self._starts.waiting() or self._handoffs.waiting()
        return not (waiting or self._deliveries.pending())

    def is_settled(self) -> bool:
        """Whether all that is left waits for a retry, a turn to end or the operator."""
        moving = set(self._handoffs.waiting()) - self.tally.paused
        return not (self._recovery or self._stops.waiting() or moving or self._typing or self._starting)

    def sweep(self) -> None:
        """Look after what crashes left behind, and take up a changed configuration."""
        self._reload()
        try:
            before = self._summary.begin()
            sweep = Sweep(self._fleet, self._fleet.looker())
            self.tally.mended += sweep.run()
            self._summary.whole(sweep.sights, before)
            self._heed.whole(sweep.sights)
        except (FleetError, OSError) as e:
            self._log.warning("sweep failed", error=str(e))

    def _recover(self) -> None:
        """Go on bringing back what an outage took, until that is over."""
        if self._recovery is None:
            return
        try:
            if not self._recovery.advance():
                return
            for row in self._recovery.rows:
                if row.fate != Fate.RUNS:
                    words = {"what": str(row.fate), "why": row.error or row.why, "successor": row.successor}
                    self._log.info("recover", agent=row.agent.id, **words)
        except (FleetError, OSError) as e:
            self._log.warning("recovery failed", error=str(e))
        except Exception as e:  # noqa: BLE001  # the drain's outer edge: a bug in it must not take the others down
            self._log.exception("recovery failed", error=str(e))
        self._absent |= self._recovery.absent()
        self._recovery = None

    def _recall(self) -> None:
        """Bring back whom the recovery left alone, once the folder is there."""
        there = {agent_id for agent_id, folder in self._absent.items() if is_there(folder)}
        if there and self._recovery is None:
            self._absent = {agent_id: folder for agent_id, folder in self._absent.items() if agent_id not in there}
            self._recovery = Recovery(self._fleet, there)

    def _reload(self) -> None:
        seen = _stamp(self._config)
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
        pauses += self._start()
        due = [pause for pause in pauses if pause >= 0]
        return min(due, default=None)

    def _guarded(self, agent_id: str, what: str, step: Callable[[], Progress]) -> Progress:
        """Run one step; a bug in it is logged, told by `fleet queue list`, and stops nothing else."""
        try:
            progress = step()
        except Exception as e:  # noqa: BLE001  # the drain's outer edge: one entry must not take the others down
            error, attempts = f"{type(e).__name__}: {e}", Attempts(self._fleet.layout, agent_id, self._fleet.clock)
            if attempts.last_error != error[:LAST_ERROR_CHARACTERS]:
                self._log.exception("step failed", agent=agent_id, what=what, error=str(e))
            with contextlib.suppress(OSError):  # a disk that is full, perhaps: it is logged
                attempts.note(error)
            return Progress.BLIND
        if progress in (Progress.DONE, Progress.DEAD):
            self._log.info(what, agent=agent_id, result=progress.value)
        return progress

    def _start(self) -> list[float]:
        """
        Start what waits and has room, beside the loop: a set-up command may take minutes.

        Returns the seconds until the next look, as nothing tells when an agent ends.
        """
        if self._starting is None:
            if self._starts.waiting():
                self._starting = self._typists.submit(self._starts.advance)
                return [MOVING_SECONDS]
            return []
        if not self._starting.done():
            return [MOVING_SECONDS]
        done, self._starting = self._starting, None
        error = done.exception()
        if error is not None:
            self._log.error("waiting dispatches not looked at", error=str(error), exc_info=error)
            return [BLIND_SECONDS]
        outcomes = done.result()
        for one in outcomes:
            if one.result != Result.WAITING:
                words = {"task": one.entry["order"]["task_id"], "result": str(one.result), "why": str(one.why or "")}
                self._log.info("dispatch", dispatch=one.entry["dispatch_id"], **words)
            self.tally.started += one.result == Result.STARTED
            self.tally.dead += one.result == Result.FAILED
            if one.result == Result.FAILED:
                self._heed.notifier.given_up(one.entry["dispatch_id"], one.entry["order"]["task_id"], str(one.why))
        return [ROOM_SECONDS] if any(one.result == Result.WAITING for one in outcomes) else []

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

    def _summarise(self, *, last: bool = False) -> float:
        """Keep the summary for status lines true; seconds until it is to be looked after again."""
        try:
            self._summary.advance(self._fleet.looker(), last=last)
            self._heed.some(self._summary.seen)
        except (FleetError, OSError) as e:
            self._log.warning("summary not written", error=str(e))
        left = self._summary.seconds_left()
        return float("inf") if left is None else left

    def _stirred(self, changed: set[str]) -> None:
        for agent_id in self._scanning.changed() if self._scanning is not None else ():
            self._deliveries.stirred(agent_id)
            self._summary.stirred(agent_id)
        if changed & {self._config, os.path.realpath(self._config)}:
            self._reload()
        for path in changed:
            folder, name = os.path.split(path)
            for agent_id in (name[:8], os.path.basename(folder)):
                if is_id(agent_id):
                    self._deliveries.stirred(agent_id)
            agent_id = queue_entry.id_of_name(name) or name[:8]
            if is_id(agent_id):
                self._summary.stirred(agent_id)
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


def _stamp(path: str) -> list[int]:
    try:
        info = os.stat(path)
    except OSError:
        return []
    return [info.st_mtime_ns, info.st_size, info.st_ino]


def _pause(progress: Progress) -> float:
    """Seconds until the next look; negative for none."""
    match progress:
        case Progress.MOVING:
            return MOVING_SECONDS
        case Progress.BLIND | Progress.PAUSED:
            return BLIND_SECONDS
        case _:
            return -1.0
