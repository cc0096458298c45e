"""Fleet's own log: one JSON object a line under `logs/`, rotated by size. For fleet's developers and bug reports.

What happened to an agent stands in its event lines; this log says what fleet thought. Values whose names look like
secrets never get into it.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import re

import structlog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    from fleet.formats.layout import Layout

MAX_BYTES = 4 * 1024 * 1024
KEPT_FILES = 3
_SECRET = re.compile(r"key|token|secret|password|credential|authorization", re.IGNORECASE)


def redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Take out what looks like a secret by its name."""
    return {k: "[redacted]" if _SECRET.search(k) else v for k, v in event.items()}


def open_log(layout: Layout, name: str) -> structlog.stdlib.BoundLogger:
    """The log `logs/<name>.jsonl`."""
    path = os.path.join(layout.logs, f"{name}.jsonl")
    handler = logging.handlers.RotatingFileHandler(
        path, maxBytes=MAX_BYTES, backupCount=KEPT_FILES, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(message)s"))
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
