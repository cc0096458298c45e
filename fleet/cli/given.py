"""What a person names to be read: a file, or - for standard input."""

from __future__ import annotations

import sys

from fleet.errors import UsageError


def read(name: str) -> bytes:
    """
    All of it, byte for byte.

    Raises:
        UsageError: it cannot be read.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        with open(name, "rb") as f:
            return f.read()
    except OSError as e:
        raise UsageError(f"cannot read {name}: {e.strerror}") from e
