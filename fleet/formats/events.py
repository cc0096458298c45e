"""Event lines: what happened to one agent, one JSON object a line, in `events/<id>.jsonl`.

    {"v": 1, "ts": "2026-11-30T13:00:00.123Z", "source": "hook", "event": "Stop", "session_id": "…",
     "turn_id": "…", …}

`source` is `hook` (the engine reported), `drain` or `cli` (fleet acted). `event` is the engine's own event name
for hooks; what a SessionStart payload calls `source` is `session_source` here. `turn_id` is Claude Code's prompt_id
or Codex's turn_id. An event is a fact, never a judgement. A torn or foreign line is skipped by readers. The file is
rotated once to `.jsonl.1`.
"""

from __future__ import annotations

import fcntl
import os

from fleet.formats import jsontext
from fleet.formats.atomic import append_line
from fleet.formats.times import rfc3339_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BLOCK_BYTES = 64 * 1024
HOOK_SECONDS = 10  #: how long engines are told to wait for a hook; a report older than that is settled
PROMPT_HEAD_CHARACTERS = 300
#: What the hooks of each engine are configured for.
EVENTS = {
    "claude-code": (
        "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "StopFailure", "PreCompact", "PostCompact",
        "Notification", "PermissionRequest",
    ),
    "codex": (
        "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "Interrupt", "PreCompact", "PermissionRequest",
    ),
}  # fmt: skip
EVENTS["gemini"] = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "PermissionRequest")
EVENTS["opencode"] = (
    "SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "Interrupt", "PreCompact", "PostCompact",
    "PermissionRequest",
)  # fmt: skip
EVENTS["fake"] = EVENTS["claude-code"]


def line(wall: float, source: str, event: str, fields: dict[str, Any]) -> bytes:
    """One event line, without its newline. Fields that are None are left out."""
    data: dict[str, Any] = {"v": 1, "ts": rfc3339_ms(wall), "source": source, "event": event}
    data.update((k, v) for k, v in fields.items() if v is not None and k not in data)
    return jsontext.dumps(data, compact=True).encode()


def append(path: str, wall: float, source: str, event: str, fields: dict[str, Any], max_bytes: int = 0) -> None:
    """Append one event; with *max_bytes* over 0 the file is rotated first when it is larger than that."""
    if max_bytes:
        _rotate(path, max_bytes)
    append_line(path, line(wall, source, event, fields))


def _rotate(path: str, max_bytes: int) -> None:
    try:
        if os.stat(path).st_size <= max_bytes:
            return
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        # Of several that found the file too large one may rename it, and only the file that was measured: a second
        # rename would put the new, almost empty file over what was just saved.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.fstat(fd)
        if held.st_size > max_bytes and os.stat(path).st_ino == held.st_ino:
            os.replace(path, path + ".1")
    except OSError:
        pass
    finally:
        os.close(fd)


def lines_from_end(path: str, limit_bytes: int | None = None, since: int = 0) -> Iterator[bytes]:
    """
    The lines of *path* from the last to the first, reading blocks from its end.

    A missing file has no lines; a last line without its newline comes as it is (it may be torn).

    Args:
        limit_bytes: stop after about that many bytes from the end; the line cut by it is not yielded.
        since: only lines that begin at that offset or behind it; a file that is shorter is another one by now, and
            read whole.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        position = os.fstat(fd).st_size
        floor = since if since <= position else 0
        begins = floor == 0 or os.pread(fd, 1, floor - 1) == b"\n"  # a line does, where reading ends
        if limit_bytes is not None and position - limit_bytes > floor:
            floor, begins = position - limit_bytes, False
        parts: list[bytes] = []  # the beginning-less line that is being put together, last block first
        while position > floor:
            size = min(BLOCK_BYTES, position - floor)
            position -= size
            block = os.pread(fd, size, position)
            if not block:
                return
            head, newline, rest = block.partition(b"\n")
            if not newline:
                parts.append(block)
                continue
            *middle, last = rest.split(b"\n")
            parts.append(last)
            whole = b"".join(reversed(parts))
            if whole:
                yield whole
            yield from (one for one in reversed(middle) if one)
            parts = [head]
        whole = b"".join(reversed(parts))
        if whole and begins:
            yield whole
    except OSError:
        return
    finally:
        os.close(fd)


def json_object(raw: bytes) -> dict[str, Any] | None:
    """The JSON object on a line; None for a torn line or anything else."""
    try:
        data = jsontext.loads(raw.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def read_from_end(path: str, limit_bytes: int | None = None) -> Iterator[dict[str, Any]]:
    """The events of *path*, newest first, going on into the rotated file; what is no event is skipped."""
    for one in (path, path + ".1"):
        for raw in lines_from_end(one, limit_bytes):
            data = json_object(raw)
            if data is not None and isinstance(data.get("event"), str):
                yield data
