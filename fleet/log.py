"""Fleet's own log: one JSON object a line under `logs/`, rotated by size. For fleet's developers and bug reports.

What happened to an agent stands in its event lines; this log says what fleet thought. Secrets are taken out before a
line is written (`formats.redaction`).

Several processes write one log (a drain that ends and the next one, commands). The standard library's handler rotates
by renaming, under which another process goes on writing into the renamed file, and then renames once more: so the
write and the rotation happen together under one kernel lock, on the file that has the name at that moment. Of all
lines the newest `(KEPT_FILES + 1) * MAX_BYTES` or so are kept.
"""

from __future__ import annotations

import logging
import logging.handlers
import os

import structlog

from fleet.errors import FleetError
from fleet.formats.atomic import Lock
from fleet.formats.redaction import Redactor
from fleet.formats.rotation import KEPT_FILES, MAX_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    from fleet.formats.layout import Layout

LOCK_SECONDS = 2.0  #: a writer that was stopped in the middle must not stop the others: they then append, unrotated
PLAIN = frozenset({"level", "timestamp", "pid"})


def redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Take out what is a secret by its name or its shape."""
    return {k: v if k in PLAIN else Redactor().value(v, k) for k, v in event.items()}


class SharedRotatingFileHandler(logging.handlers.RotatingFileHandler):
    """Of several processes: every line is written whole, to the file that has the name, and none is lost but by age."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, rotating first where it would not fit."""
        lock = Lock(self.baseFilename + ".lock", LOCK_SECONDS)
        try:
            # Not format(): of an exception it would append the traceback, unredacted and over several lines.
            line = (record.getMessage() + self.terminator).encode("utf-8", "backslashreplace")
            try:
                with lock:
                    self._write(line, rotate=True)
            except FleetError:
                self._write(line, rotate=False)
        except Exception:  # noqa: BLE001  # a full disk is no reason to stop: the line is lost, the work goes on
            return

    def _write(self, line: bytes, *, rotate: bool) -> None:
        fd = self._open_end()
        try:
            if rotate and os.fstat(fd).st_size and os.fstat(fd).st_size + len(line) > self.maxBytes:
                os.close(fd)
                self.doRollover()
                fd = self._open_end()
            torn = os.fstat(fd).st_size and os.pread(fd, 1, os.fstat(fd).st_size - 1) != b"\n"
            view = memoryview(b"\n" + line if torn else line)  # what a killed writer left must not spoil this line
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)

    def _open_end(self) -> int:
        return os.open(self.baseFilename, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def open_log(layout: Layout, name: str) -> structlog.stdlib.BoundLogger:
    """The log `logs/<name>.jsonl`."""
    path = os.path.join(layout.logs, f"{name}.jsonl")
    handler = SharedRotatingFileHandler(path, maxBytes=MAX_BYTES, backupCount=KEPT_FILES, encoding="utf-8", delay=True)
    logger = logging.getLogger(f"fleet.{name}")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)
    log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logger,
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redact,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        pid=os.getpid(),
    )
    return log
