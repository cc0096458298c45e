"""
Shell commands that run beside the screen: hooks, tools, background work.

Every command runs in a session of its own, as with Claude Code 2.1.197: a timeout or an interrupt ends
all it started, and no signal to the pane's session reaches it. A hook is over when its output is
closed, not when its shell has ended: one that leaves a child behind with the hook's own stdout holds up
the turn for as long as that child lives. A tool is over when its shell is. When the client ends by a
signal, it ends its background work and its hooks; a tool in use goes on as an orphan. Python ignores
SIGPIPE and children inherit that, so it is set back.
"""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from typing import NamedTuple

from fleet.fakeagent.clockwork import Loop, Steps, Timer, Wait, hold

CHUNK_BYTES = 65536


class Finished(NamedTuple):
    """How a command ended."""

    status: int  #: Exit status; the negative signal number when a signal ended it.
    stdout: str
    stderr: str
    timed_out: bool
    milliseconds: int


class Child:
    """One running command."""

    def __init__(self, loop: Loop, command: str, payload: bytes, env: dict[str, str], *, until_closed: bool) -> None:
        self.finished: Wait[Finished] = Wait()
        self.outlives = False  #: It is not ended with the client.
        self._until_closed = until_closed
        self._status: int | None = None
        self.timeout: Timer | None = None
        self._loop = loop
        self._payload = payload
        self._started = time.monotonic()
        self._timed_out = False
        child_in, self._stdin = os.pipe()
        self._stdout, child_out = os.pipe()
        self._stderr, child_err = os.pipe()
        self._output: dict[int, list[bytes]] = {self._stdout: [], self._stderr: []}
        self._open = set(self._output)
        self.pid = _spawn(["/bin/sh", "-c", command], env, (child_in, child_out, child_err))
        for fd in (child_in, child_out, child_err):
            os.close(fd)
        for fd in self._output:
            os.set_blocking(fd, False)
            loop.on_readable(fd, partial(self._on_output, fd))
        os.set_blocking(self._stdin, False)
        loop.on_writable(self._stdin, self._write)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End the command and all it started in its group."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:  # macOS says so of a group that has ended but is not collected
            pass

    def milliseconds(self) -> int:
        """How long it has been running."""
        return round((time.monotonic() - self._started) * 1000)

    def expire(self) -> None:
        """Its time is over."""
        self._timed_out = True
        self.kill()
        self._finish_if_over()

    def collect(self) -> bool:
        """Whether the shell has ended."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return False
        for fd in list(self._open):
            while self._read(fd):
                pass
        # Only now, or the end of the first stream would end it all.
        self._status = os.waitstatus_to_exitcode(status)
        self._finish_if_over()
        return True

    def _finish_if_over(self) -> None:
        if self._status is None or self.finished.done:
            return
        if self._open and self._until_closed and not self._timed_out:
            return
        if self.timeout is not None:
            self.timeout.cancel()
        for fd in list(self._open):
            self._close(fd)
        self._close_stdin()
        self.finished.set(
            Finished(
                self._status,
                self._text(self._stdout),
                self._text(self._stderr),
                self._timed_out,
                self.milliseconds(),
            )
        )

    def _text(self, fd: int) -> str:
        return b"".join(self._output[fd]).decode("utf-8", "replace")

    def _on_output(self, fd: int) -> None:
        self._read(fd)

    def _read(self, fd: int) -> bool:
        if fd not in self._open:
            return False
        try:
            data = os.read(fd, CHUNK_BYTES)
        except BlockingIOError:
            return False
        self._output[fd].append(data)
        if not data:
            self._close(fd)
            self._finish_if_over()
        return bool(data)

    def _close(self, fd: int) -> None:
        self._open.discard(fd)
        self._loop.forget(fd)
        os.close(fd)

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin, self._payload[:CHUNK_BYTES]) if self._payload else 0
        except BrokenPipeError:  # a hook need not read its input
            self._payload = b""
        except BlockingIOError:
            return
        else:
            self._payload = self._payload[sent:]
        if not self._payload:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.forget(self._stdin)
            os.close(self._stdin)
            self._stdin = -1


def _spawn(argv: list[str], env: dict[str, str], standard: tuple[int, int, int]) -> int:
    files = [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(standard)]
    default = [signal.SIGPIPE]
    try:
        return os.posix_spawn(argv[0], argv, env, file_actions=files, setsid=True, setsigdef=default)
    except NotImplementedError:  # a C library without it; a group can be ended as well
        return os.posix_spawn(argv[0], argv, env, file_actions=files, setpgroup=0, setsigdef=default)


class Children:
    """All commands of this agent."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._running: list[Child] = []
        loop.on_signal(signal.SIGCHLD, self._on_child)

    def start(
        self,
        command: str,
        *,
        payload: str = "",
        env: dict[str, str],
        timeout_seconds: float = 0,
        hook: bool = False,
    ) -> Child:
        """Start a shell command; it is killed after *timeout_seconds*, 0 is never."""
        child = Child(self._loop, command, payload.encode("utf-8", "surrogateescape"), env, until_closed=hook)
        if timeout_seconds:
            child.timeout = self._loop.later(timeout_seconds, child.expire)
        self._running.append(child)
        return child

    def run(self, command: str, *, env: dict[str, str], timeout_seconds: float = 0) -> Steps[Finished]:
        """Run a command inside a scenario; an interrupt there ends it."""
        child = self.start(command, env=env, timeout_seconds=timeout_seconds)
        child.outlives = True
        try:
            return (yield from hold(child.finished))
        except Exception:  # an interrupt; GeneratorExit is the end of the client, and no Exception
            child.kill()
            raise

    def kill_all(self) -> None:
        """End everything but the tool in use."""
        for child in self._running:
            if not child.outlives:
                child.kill()

    def _on_child(self) -> None:
        self._running = [child for child in self._running if not child.collect()]
