"""How large a log grows, and its rotation for who cannot afford the logging of the standard library."""

from __future__ import annotations

import os

from fleet.errors import FleetError
from fleet.formats.atomic import Lock, append_line

MAX_BYTES = 4 * 1024 * 1024
KEPT_FILES = 3  #: besides the one that is written
LOCK_SECONDS = 0.5  #: a writer that was stopped in the middle must not stop the others: they then append, unrotated


def append(path: str, text: bytes) -> None:
    """
    Append lines in one write, rotating first where they would not fit: the file becomes `.1`, that `.2`, the last goes.

    Raises:
        OSError: they could not be written.
    """
    try:
        with Lock(path + ".lock", LOCK_SECONDS):
            if _size(path) and _size(path) + len(text) >= MAX_BYTES:
                _rotate(path)
            append_line(path, text)
    except FleetError:
        append_line(path, text)


def _rotate(path: str) -> None:
    # Oldest first: killed anywhere in between, every file still has one name, and the next rotation goes on.
    for number in range(KEPT_FILES, 0, -1):
        try:
            os.replace(f"{path}.{number - 1}" if number > 1 else path, f"{path}.{number}")
        except FileNotFoundError:
            continue


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
