"""A live view in a popup: drawn anew while something changes, scrolled where it does not fit, closed by other keys."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

STEP_SECONDS = 0.7
MOST_KEYS_BYTES = 64
_KEY = re.compile(rb"\x1b(?:\[[0-9;]*[~A-Za-z]|O[A-Z])|.", re.DOTALL)
FOOT = "any key closes this"
#: The widest that fits is shown.
SCROLLING = (
    "↑ ↓ PgUp PgDn Home End scroll, any other key closes this",
    "↑ ↓ scroll, any other key closes",
    "↑ ↓, or close",
)
ALL = 1 << 30
#: By how many lines and how many pages each key goes down.
MOVES: dict[bytes, tuple[int, int]] = {
    key: move
    for keys, move in (
        ((b"k", b"\x1b[A", b"\x1bOA"), (-1, 0)),
        ((b"j", b"\x1b[B", b"\x1bOB"), (1, 0)),
        ((b"b", b"\x02", b"\x1b[5~"), (0, -1)),
        ((b"f", b" ", b"\x06", b"\x1b[6~"), (0, 1)),
        ((b"g", b"\x1b[H", b"\x1bOH", b"\x1b[1~"), (-ALL, 0)),
        ((b"G", b"\x1b[F", b"\x1bOF", b"\x1b[4~"), (ALL, 0)),
    )
    for key in keys
}


def view(lines: Callable[[], list[str]], *, from_top: bool = False) -> None:
    """
    Show what *lines* gives until a key is pressed that does not scroll. Needs a terminal on standard input and output.

    Args:
        from_top: begin with the first line, not with the last.
    """
    before = termios.tcgetattr(0)
    shown: list[str] | None = None
    top = 0 if from_top else ALL
    try:
        tty.setcbreak(0)
        while True:
            found, at, last = fit(lines(), top, *os.get_terminal_size(1))
            if found != shown:
                sys.stdout.write("\033[?25l\033[H\033[2J" + "\r\n".join(found))
                sys.stdout.flush()
                shown = found
            if select.select([0], [], [], STEP_SECONDS)[0]:
                for key in _KEY.findall(os.read(0, MOST_KEYS_BYTES)):
                    if not last or key not in MOVES:
                        return
                    by_line, by_page = MOVES[key]
                    at = min(max(0, at + by_line + by_page * (len(found) - 2)), last)
                top = ALL if at == last else at  # whoever is at the end stays there when more comes
    finally:
        sys.stdout.write("\033[?25h")
        sys.stdout.flush()
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def fit(lines: list[str], top: int, width: int, height: int) -> tuple[list[str], int, int]:
    """What of *lines* fits on a terminal from line *top* on, with a foot; where it really begins, and could at most."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    room = max(0, height - 1)
    last = max(0, len(lines) - room)
    at = min(top, last)
    scrolling = next((words for words in SCROLLING if len(words) <= width), SCROLLING[-1])
    foot = scrolling if last and room else FOOT
    body = ["".join(c if c.isprintable() else " " for c in line)[:width] for line in lines[at : at + room]]
    return [*body, foot[:width]], at, last
