"""
Lines that reach the file a moment after they were written.

Claude Code 2.1.197 collects the records of a transcript and appends them about every 100 ms. A hook
therefore reads a file that lags: when Stop fires, the answer that ends the turn is not in it yet (12 of
12 times), 150 ms later it is. Every line is one write on a descriptor opened for appending, so that a
reader sees whole lines, also after a kill.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleet.fakeagent.clockwork import Loop, Timer


class Appender:
    """A file of JSON lines that is only appended to; it exists from the first flush on."""

    def __init__(self, loop: Loop, lag_seconds: float) -> None:
        self._loop = loop
        self._lag_seconds = lag_seconds
        self._path = ""
        self._lines: list[bytes] = []
        self._fd = -1
        self._timer: Timer | None = None

    def open(self, path: str) -> None:
        """The lines from here on go to *path*."""
        self._path = path

    def add(self, record: dict[str, Any]) -> None:
        """Write a record, soon."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
        self._lines.append(line.encode("utf-8", "replace"))
        if self._timer is None:
            self._timer = self._loop.later(self._lag_seconds, self.flush)

    def flush(self) -> None:
        """Write everything now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._lines and self._fd < 0:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        for line in self._lines:
            os.write(self._fd, line)
        self._lines = []

    def close(self) -> None:
        """Write everything and end the file."""
        self.flush()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
