"""
One thread, one `select`: descriptors, timers, signals, and scenarios written as generators.

A scenario (a turn, a compaction, a dialog) reads from top to bottom and says `yield from hold(wait)`
wherever it has to wait. It can be interrupted there: `Task.throw` raises inside the scenario, as Esc
does to a turn. Nothing polls: with no timer set the process sleeps until a key, a child or a signal
comes.
"""

from __future__ import annotations

import heapq
import os
import select
import signal
import time
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Steps = Generator["Wait[Any]", None, T]


class Wait(Generic[T]):
    """Something that will be known later."""

    __slots__ = ("_then", "done", "value")
    value: T

    def __init__(self) -> None:
        self.done = False
        self._then: list[Callable[[], None]] = []

    def set(self, value: T) -> None:
        """Make it known; only the first value counts."""
        if self.done:
            return
        self.done, self.value = True, value
        then, self._then = self._then, []
        for callback in then:
            callback()

    def then(self, callback: Callable[[], None]) -> None:
        """Call back once, at once if it is known already."""
        if self.done:
            callback()
        else:
            self._then.append(callback)


def hold(wait: Wait[T]) -> Steps[T]:
    """Wait inside a scenario."""
    if not wait.done:
        yield wait
    return wait.value


def hold_all(waits: list[Wait[T]]) -> Steps[list[T]]:
    """Wait for several that run at the same time."""
    for wait in waits:
        yield from hold(wait)
    return [wait.value for wait in waits]


class Task(Generic[T]):
    """A scenario that runs."""

    def __init__(self, steps: Steps[T]) -> None:
        self.finished: Wait[T] = Wait()
        self._steps = steps
        self._turn = 0
        self._advance(None)

    def throw(self, error: BaseException) -> None:
        """Raise *error* where the scenario waits."""
        if not self.finished.done:
            self._advance(error)

    def _advance(self, error: BaseException | None) -> None:
        self._turn += 1
        try:
            wait = self._steps.send(None) if error is None else self._steps.throw(error)
        except StopIteration as stop:
            self.finished.set(stop.value)
            return
        expected = self._turn

        def wake() -> None:
            if self._turn == expected:  # else the scenario was interrupted and waits for something else now
                self._advance(None)

        wait.then(wake)


class Timer:
    """A call that is due later, unless it is cancelled."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Do not call."""
        self.call = None


class Loop:
    """Waits for the outside and calls what was registered for it."""

    def __init__(self) -> None:
        self.stopped = False
        self.after_round: Callable[[], None] = lambda: None  #: Called before every wait.
        self._readers: dict[int, Callable[[], None]] = {}
        self._writers: dict[int, Callable[[], None]] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._signals: dict[int, Callable[[], None]] = {}
        self._order = 0
        self._wake_read, wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self._readers[self._wake_read] = self._on_signals

    def on_readable(self, fd: int, call: Callable[[], None]) -> None:
        """Call whenever *fd* can be read, until it is forgotten."""
        self._readers[fd] = call

    def on_writable(self, fd: int, call: Callable[[], None]) -> None:
        """Call whenever *fd* can be written, until it is forgotten."""
        self._writers[fd] = call

    def forget(self, fd: int) -> None:
        """Look at *fd* no more."""
        self._readers.pop(fd, None)
        self._writers.pop(fd, None)

    def on_signal(self, number: int, call: Callable[[], None]) -> None:
        """Call, outside the signal handler, when the signal comes."""
        self._signals[number] = call
        signal.signal(number, lambda *_: None)

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Call once, in *seconds*."""
        timer = Timer(call)
        self._order += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._order, timer))
        return timer

    def sleep(self, seconds: float) -> Steps[None]:
        """Wait inside a scenario; 0 does not wait."""
        if seconds > 0:
            wait: Wait[None] = Wait()
            timer = self.later(seconds, lambda: wait.set(None))
            try:
                yield from hold(wait)
            finally:
                timer.cancel()

    def run(self) -> None:
        """Serve until `stopped` is set."""
        while not self.stopped:
            self.after_round()
            readable, writable, _ = select.select(list(self._readers), list(self._writers), [], self._idle_seconds())
            for fd in readable:
                self._call(self._readers.get(fd))
            for fd in writable:
                self._call(self._writers.get(fd))
            self._ring()

    @staticmethod
    def _call(call: Callable[[], None] | None) -> None:
        if call is not None:  # an earlier call of this round may have closed the descriptor
            call()

    def _idle_seconds(self) -> float | None:
        while self._timers and self._timers[0][2].call is None:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _ring(self) -> None:
        while self._timers and self._timers[0][0] <= time.monotonic():
            call = heapq.heappop(self._timers)[2].call
            if call is not None:
                call()

    def close(self) -> None:
        """Hear no more signals and give back what the loop itself holds."""
        os.close(signal.set_wakeup_fd(-1))
        os.close(self._wake_read)

    def _on_signals(self) -> None:
        for number in os.read(self._wake_read, 64):
            self._call(self._signals.get(number))
