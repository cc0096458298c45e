"""One drain per FLEET_HOME: a kernel lock held for life. Whoever holds it is the drain, nothing else says so."""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import Lock, encode, ensure_dir, read_object, remove_file, write_file
from fleet.formats.times import rfc3339
from fleet.process.table import is_suspended, own_identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.clock import Clock
    from fleet.formats.layout import Layout

#: A hook that asks whether a drain runs holds the lock for an instant.
PATIENCE_SECONDS = 0.3


class DrainLock:
    """The lock, and a note of who holds it for `fleet drain --status`."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self._layout = layout
        self._clock = clock
        self._lock = Lock(layout.drain_lock, sleep=clock.sleep, monotonic=clock.monotonic)
        self._note = os.path.join(layout.run, "drain.json")
        self._kicked = os.path.join(layout.run, "drain.kicked")
        self._me: dict[str, Any] = {}

    def take(self, patience_seconds: float = PATIENCE_SECONDS) -> bool:
        """Become the drain, if nobody is."""
        ensure_dir(self._layout.run)
        end = self._clock.monotonic() + patience_seconds
        while not self._lock.try_acquire():
            if self._clock.monotonic() >= end:
                self._lock.release()
                return False
            self._clock.sleep(0.01)
        self._me = {**own_identity(), "since": rfc3339(self._clock.wall())}
        write_file(self._note, encode(self._me), sync=False)
        return True

    def give_back(self) -> None:
        """
        Be the drain no longer.

        The lock goes first: who queues something now must find that no drain runs. A hook that asks too late to see
        this drain's end must not be kept from starting the next one by the stamp of having started this one.
        """
        remove_file(self._kicked)
        self._lock.release()
        try:
            if read_object(self._note) == self._me:
                remove_file(self._note)
        except (FileNotFoundError, BadFile):
            pass

    def is_held(self) -> bool:
        """Whether some process is the drain."""
        probe = Lock(self._layout.drain_lock)
        try:
            return not probe.try_acquire()
        finally:
            probe.release()

    def holder(self) -> dict[str, Any] | None:
        """Who the drain is, as {"pid", "pid_start", "since"}; None when nobody is, or it has not said so yet."""
        if not self.is_held():
            return None
        try:
            return read_object(self._note)
        except (FileNotFoundError, BadFile):
            return None

    def suspended(self) -> int | None:
        """The pid of a drain that was stopped by a signal: it holds the lock, and nothing goes on."""
        holder = self.holder() or {}
        pid = holder.get("pid")
        return pid if isinstance(pid, int) and is_suspended(pid, str(holder.get("pid_start"))) else None
