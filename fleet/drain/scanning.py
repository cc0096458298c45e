"""The pane scanner beside the drain loop: a thread that looks once a second and wakes the loop when there is news.

A tick that tmux does not answer in time ends that tick, not the thread; while one is late none is queued behind it.
"""

from __future__ import annotations

import threading

from fleet.errors import FleetError
from fleet.store import screens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from structlog.stdlib import BoundLogger

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.model.screen import Screen
    from fleet.observe.scanner import Scanner

STILL_SECONDS = 5.0  #: what changes more often is not worth a digest at each publishing
PUBLISH_SECONDS = 5.0  #: between two writes of what stayed the same, so that readers know that it was looked at
LONGEST_PAUSE_SECONDS = 10.0  #: between two looks at a server that does not answer
STILL_LOOKS = 10  #: in a row: then nobody works, and half as many looks cost half as much
END_SECONDS = 15.0


def pause_after(interval_seconds: float, failures: int, still: int) -> float:
    """
    Seconds until the next look.

    Args:
        failures: looks in a row that failed.
        still: looks in a row that found nothing moved. Where everybody is still, hooks tell first who begins again.
    """
    longer = 2 if still >= STILL_LOOKS else 1
    return min(interval_seconds * 2.0**failures * longer, max(LONGEST_PAUSE_SECONDS, interval_seconds))


class Scanning:
    """Runs beside the loop from `start` to `stop`."""

    def __init__(self, fleet: Fleet, log: BoundLogger, wake: Callable[[], None]) -> None:
        self._fleet = fleet
        self._log = log
        self._wake = wake
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._latest: Mapping[str, Screen] = {}
        self._agents: dict[str, Agent] = {}
        self._published = 0.0
        self._told: tuple[str, ...] = ()
        self._still = 0  #: looks in a row that found nothing moved
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look. What was seen is `fleet.screens` of this process from now on."""
        if not self._fleet.settings["scanner.enabled"] or self._thread is not None:
            return
        self._thread = threading.Thread(target=self._run, name="fleet-scanner", daemon=True)
        self._fleet.screens = lambda: self._latest
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Safe to repeat."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(END_SECONDS)
        self._thread = None
        self._fleet.screens = None

    def changed(self) -> set[str]:
        """The agents whose screens told new things since one last asked."""
        with self._lock:
            changed, self._changed = self._changed, set()
        return changed

    def _run(self) -> None:
        scanner = self._fleet.scanner()
        scanner.resume(screens.read(self._fleet.layout))
        failures = 0
        while not self._ending.is_set():
            failures = 0 if self._tick(scanner) else failures + 1
            interval = self._fleet.settings.number("scanner.interval_seconds")
            self._ending.wait(pause_after(interval, failures, self._still))
        scanner.note_digests()
        self._publish(scanner)

    def _tick(self, scanner: Scanner) -> bool:
        """One look; whether every server answered."""
        try:
            tick = scanner.tick(self._living())
        except (FleetError, OSError) as e:
            self._tell((str(e),))
            return False
        self._latest = dict(scanner.screens)
        self._still = 0 if tick.captured else self._still + 1
        self._tell(tick.errors)
        now = self._fleet.clock.monotonic()
        if tick.changed or now - self._published >= PUBLISH_SECONDS:
            self._published = now
            scanner.note_digests(STILL_SECONDS)
            self._publish(scanner)
        if tick.changed:
            with self._lock:
                self._changed |= tick.changed
            self._wake()
        return not tick.errors

    def _publish(self, scanner: Scanner) -> None:
        self._latest = dict(scanner.screens)
        try:
            screens.write(self._fleet.layout, self._latest, self._fleet.clock.wall())
        except OSError as e:
            self._tell((f"screens not published: {e.strerror}",))

    def _living(self) -> list[Agent]:
        """The agents; what is looked at of a record never changes, so each is read once."""
        ids = self._fleet.agents.ids()
        known = {}
        for agent_id in ids:
            try:
                agent = self._agents.get(agent_id) or self._fleet.agents.get(agent_id)
            except FleetError:
                continue  # a record that cannot be read is told by others
            if agent is not None and agent.pane_id:
                known[agent_id] = agent
        self._agents = known
        return list(known.values())

    def _tell(self, errors: tuple[str, ...]) -> None:
        """Log what went wrong, once for as long as it stays the same."""
        if errors != self._told:
            for error in errors:
                self._log.warning("screens not looked at", error=error)
            if not errors:
                self._log.info("screens looked at again")
        self._told = errors
