"""What a pane's terminal does with what is typed, before its program sees it.

A program that reads lines and leaves editing to the terminal (canonical mode: `input()` of Python without readline,
`read` of a shell) gets 4,095 bytes of a line on Linux (6.18); the terminal drops the others and takes Enter as if they
had come. On macOS it is MAX_CANON, 1,024 (by its header, not measured). Programs with a line editor take every key.

One that reads a password does so in canonical mode with echo off: what is typed there stays unseen in the terminal, and
is the beginning of what the person types next. Line editors switch echo off as well, but not in canonical mode.
"""

from __future__ import annotations

import os
import sys
import termios

from fleet.model.panes import Terminal

LINE_BYTES = 1024 - 1 if sys.platform == "darwin" else 4095


def terminal(path: str) -> Terminal:
    """How the terminal at *path* is set; as one that takes every key when it cannot be looked at."""
    try:
        tty = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Terminal()
    try:
        modes = termios.tcgetattr(tty)[3]
    except termios.error:
        return Terminal()
    finally:
        os.close(tty)
    return Terminal(LINE_BYTES, hides=not modes & termios.ECHO) if modes & termios.ICANON else Terminal()
