"""Reading fleet's own logs: every `logs/*.jsonl` with its rotated files, and `hook-errors.log`, as one stream of lines.

A line is a dict with `timestamp`, `level`, `log` (the file's name without its ending) and `event`, and whatever else
was said. A failed hook is such a line, too: `{"log": "hook-errors", "level": "error", "event": "hook failed", "agent",
"call", "exception"}`. A torn or foreign line is passed over.

Rotation renames, so a reader that follows keeps its file open, reads it to its end, and goes on with those that came
after it, whichever they are named by now.
"""

from __future__ import annotations

import os
import re

from fleet.formats import events
from fleet.formats.times import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.formats.layout import Layout

LEVELS = ("debug", "info", "warning", "error", "critical")
HOOK_ERRORS = "hook-errors"
_HEAD = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) (\S+) ?(.*)$")
_OLDEST = 99  #: nobody keeps more rotated files than that
_TRIES = 20
_BLOCK = 1 << 16


def current(layout: Layout) -> list[str]:
    """The logs that are written now, whether or not they exist beside a rotated one."""
    try:
        names = os.listdir(layout.logs)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = {m[1] for n in names if (m := re.fullmatch(r"([\w-]+\.jsonl|hook-errors\.log)(?:\.\d{1,2})?", n))}
    return [os.path.join(layout.logs, name) for name in sorted(found)]


class Tail:
    """One log: what is there of it, oldest first, and later what was added."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = os.path.basename(path).rpartition(".")[0]
        self._fd = -1
        self._seen: tuple[int, int] | None = None
        self._rest = b""
        self._block: list[str] = []

    def read(self) -> Iterator[dict[str, Any]]:
        """The lines since the last call; of the first call all that are kept."""
        for fd, last in self._open():
            self._take(fd)
            while part := os.read(fd, _BLOCK):
                *whole, self._rest = (self._rest + part).split(b"\n")
                yield from self._lines(whole)
            if not last and self._rest:
                yield from self._lines([self._rest])
                self._rest = b""
        yield from self._hook_end()

    def close(self) -> None:
        """Give the file back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _take(self, fd: int) -> None:
        if fd != self._fd:
            self.close()
            self._fd = fd
            info = os.fstat(fd)
            self._seen = (info.st_dev, info.st_ino)

    def _open(self) -> list[tuple[int, bool]]:
        """The file that is open and those after it, oldest first; the last is the one that is written now."""
        for _ in range(_TRIES):
            found = self._generations()
            fresh = []
            known = [identity for _, identity in found]
            for path, identity in found[known.index(self._seen) + 1 if self._seen in known else 0 :]:
                try:
                    fresh.append((os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), identity))
                except OSError:
                    continue
            same = all((os.fstat(fd).st_dev, os.fstat(fd).st_ino) == identity for fd, identity in fresh)
            if same and self._generations() == found:
                break
            for fd, _identity in fresh:
                os.close(fd)
        else:
            return []  # it is being rotated without a pause: the next call sees it
        fds = [fd for fd, _ in fresh]
        fds = [self._fd, *fds] if self._fd >= 0 else fds
        return [(fd, n == len(fds) - 1) for n, fd in enumerate(fds)]

    def _generations(self) -> list[tuple[str, tuple[int, int]]]:
        found = []
        for number in range(_OLDEST + 1):
            path = f"{self.path}.{number}" if number else self.path
            try:
                info = os.lstat(path)
            except OSError:
                if number:
                    break
                continue
            found.append((path, (info.st_dev, info.st_ino)))
        return found[::-1]

    def _lines(self, raw: list[bytes]) -> Iterator[dict[str, Any]]:
        for one in raw:
            if self.name == HOOK_ERRORS:
                yield from self._hook_line(one.decode("utf-8", "replace"))
                continue
            data = events.json_object(one)
            if data is not None:
                yield {"timestamp": None, "level": "info", "event": "", **data, "log": self.name}

    def _hook_line(self, line: str) -> Iterator[dict[str, Any]]:
        if _HEAD.match(line):
            yield from self._hook_end()
        self._block.append(line)

    def _hook_end(self) -> Iterator[dict[str, Any]]:
        """What has been gathered of one failure, as a line."""
        block, self._block = self._block, []
        head = _HEAD.match(block[0]) if block else None
        if head is None:
            return
        yield {
            "timestamp": head[1], "level": "error", "log": HOOK_ERRORS, "event": "hook failed", "agent": head[2],
            "call": head[3], "exception": "\n".join(block[1:]).strip("\n"),
        }  # fmt: skip


def concerns(line: dict[str, Any], ids: frozenset[str]) -> bool:
    """Whether a line is about one of these agents or dispatches."""
    if line.get("agent") in ids or line.get("dispatch") in ids:
        return True
    text = " ".join(str(v) for v in line.values())
    return any(re.search(rf"(?<![0-9a-z]){re.escape(one)}(?![0-9a-z])", text) for one in ids)


def at(line: dict[str, Any]) -> float:
    """When a line was written, seconds since the epoch; one without a time comes first."""
    return parse(line.get("timestamp")) or 0.0


def level_of(line: dict[str, Any]) -> int:
    """The rank of a line's level; an unknown one counts as `info`."""
    level = str(line.get("level")).lower()
    level = {"warn": "warning", "exception": "error", "fatal": "critical"}.get(level, level)
    return LEVELS.index(level) if level in LEVELS else 1
