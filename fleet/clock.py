"""Time, injected everywhere: a wall clock for people and files, a monotonic one for intervals, and sleep.

The only place of the package that sleeps.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from fleet.errors import TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.002, 0.25
PAUSE_SHARE = 0.02  #: of what has been waited already


def pause(waited: float, least: float = LEAST_PAUSE_SECONDS) -> float:
    """
    Seconds until the next look at something that has been waited for so long.

    Whoever waits briefly is told at once; whoever waits for minutes (each look is a call of tmux) burns no core.
    """
    return min(max(least, waited * PAUSE_SHARE), MOST_PAUSE_SECONDS)


class Clock(Protocol):
    """What the rest of fleet knows about time."""

    def wall(self) -> float:
        """Seconds since the epoch, for people and files."""

    def monotonic(self) -> float:
        """Seconds that never jump, for intervals within one process."""

    def sleep(self, seconds: float) -> None:
        """Let *seconds* pass."""


class SystemClock:
    """The machine's clocks."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep for *seconds*."""
        time.sleep(seconds)


def wait_until(condition: Callable[[], bool], timeout_seconds: float, *, clock: Clock, what: str) -> None:
    """
    Return as soon as *condition* holds; it is asked at least twice, at once and after the time is over.

    Raises:
        TimedOut: *condition* did not hold within *timeout_seconds* of the monotonic clock; names *what*.
    """
    begun = clock.monotonic()
    while not condition():
        if clock.monotonic() - begun >= timeout_seconds:
            if condition():
                return
            raise TimedOut(f"{what}: not within {timeout_seconds:g} s")
        clock.sleep(pause(clock.monotonic() - begun))
