"""What a pane's terminal does with what is typed, before its program sees it.

A program that reads lines and leaves editing to the terminal (canonical mode: `input()` of Python without readline,
`read` of a shell) gets 4,095 bytes of a line on Linux (6.18); the terminal drops the others and takes Enter as if they
had come. On macOS it is MAX_CANON, 1,024 (by its header, not measured). Programs with a line editor take every key.
"""

from __future__ import annotations

import os
import sys
import termios

LINE_BYTES = 1024 - 1 if sys.platform == "darwin" else 4095


def line_limit(path: str) -> int | None:
    """The longest line in bytes that reaches a program on that terminal whole; None: any, or not known."""
    try:
        terminal = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return LINE_BYTES if termios.tcgetattr(terminal)[3] & termios.ICANON else None
    except termios.error:
        return None
    finally:
        os.close(terminal)
