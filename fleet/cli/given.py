"""What a person names to be read: a file, or - for standard input."""

from __future__ import annotations

import sys

from fleet.errors import UsageError

LARGEST_BYTES = 64 * 1024 * 1024  #: what never ends (/dev/zero) must not take the machine's memory


def read(name: str) -> bytes:
    """
    All of it, byte for byte.

    Raises:
        UsageError: it cannot be read, or is larger than LARGEST_BYTES.
    """
    try:
        if name == "-":
            whole = sys.stdin.buffer.read(LARGEST_BYTES + 1)
        else:
            with open(name, "rb") as f:
                whole = f.read(LARGEST_BYTES + 1)
    except OSError as e:
        raise UsageError(f"cannot read {name}: {e.strerror}") from e
    if len(whole) > LARGEST_BYTES:
        raise UsageError(f"{name} is larger than {LARGEST_BYTES // 1024 // 1024} MB")
    return whole
