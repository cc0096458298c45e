"""
A main-screen interface: lines that stay, and below them a live part that is painted again and again.

The program keeps to the main screen (tmux says `alternate_on` 0), so what has scrolled off is in the
history. A frame goes back to the first live row, erases from there down, writes new lines that stay and
then the live part. When the size changes the terminal has broken rows in ways we cannot know, so
everything recent is written again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fleet.fakeagent.terminal import Terminal

REMEMBERED_LINES = 200


class Live(NamedTuple):
    """The part that is painted again: styled rows that fit the width, and the cursor's place in them."""

    rows: list[str]
    cursor_row: int
    cursor_column: int


class Screen:
    """Paints frames."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._kept: list[str] = []
        self._new: list[str] = []
        self._painted: Live | None = None

    def keep(self, lines: list[str]) -> None:
        """Add *lines* that stay; they are written with the next frame."""
        self._new += lines
        self._kept = (self._kept + lines)[-REMEMBERED_LINES:]

    def paint(self, live: Live) -> None:
        """Write a frame, if it differs from the last one."""
        if self._new or live != self._painted:
            self._terminal.write(self._back_to_live() + self._frame(self._new, live))
            self._new, self._painted = [], live

    def repaint(self, live: Live) -> None:
        """Write everything again, after the size changed."""
        rows = self._terminal.size()[1]
        self._terminal.write("\x1b[H\x1b[2J" + self._frame(self._kept[-rows:], live))
        self._new, self._painted = [], live

    def wipe(self) -> None:
        """Forget what was written and begin at the top, as a cleared conversation does."""
        self._terminal.write("\x1b[H\x1b[2J\x1b[3J")
        self._kept, self._new, self._painted = [], [], None

    def close(self, last_words: list[str]) -> None:
        """Leave the last frame on the screen and put *last_words* below it."""
        down = len(self._painted.rows) - 1 - self._painted.cursor_row if self._painted else 0
        move = f"\x1b[{down}B" if down else ""
        self._terminal.write(move + "\r\n" + "".join(f"{line}\r\n" for line in last_words))

    def _back_to_live(self) -> str:
        up = self._painted.cursor_row if self._painted else 0
        return (f"\x1b[{up}A" if up else "") + "\r\x1b[J"

    @staticmethod
    def _frame(lines: list[str], live: Live) -> str:
        up = len(live.rows) - 1 - live.cursor_row
        kept = "".join(f"{line}\x1b[0m\r\n" for line in lines)
        rows = "\r\n".join(f"{row}\x1b[0m" for row in live.rows)
        right = f"\x1b[{live.cursor_column}C" if live.cursor_column else ""
        return kept + rows + (f"\x1b[{up}A" if up else "") + "\r" + right
