"""Colour: on a terminal only, never with NO_COLOR or TERM=dumb. No meaning rests on it alone."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

RED, GREEN, YELLOW, DIM, BOLD = "31", "32", "33", "2", "1"
STATES = {"waiting": YELLOW, "exited": RED, "gone": RED, "working": GREEN, "unknown": DIM}
LEVELS = {"debug": DIM, "warning": YELLOW, "error": RED, "critical": RED}


def enabled(stream: TextIO) -> bool:
    """Whether what goes to *stream* may be coloured."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") in ("dumb", ""):
        return False
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def paint(text: str, code: str | None) -> str:
    """*text* in a colour; unchanged without one."""
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def of_state(text: str) -> str | None:
    """The colour of a state's text, `waiting (permission)`; None for one that needs none."""
    return STATES.get(text.partition(" ")[0])
