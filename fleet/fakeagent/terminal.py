"""
The terminal itself: raw mode, bracketed paste, title, size, and leaving all of it as it was found.

Everything is one write per frame, so that a capture never sees half a frame. `ISIG` is off: Ctrl-C is a
key of the program, and a SIGINT that arrives was sent by someone else.
"""

from __future__ import annotations

import os
import termios
from typing import Any

ENTER = "\x1b[?2004h\x1b[?25l"
LEAVE = "\x1b[?2004l\x1b[?25h\x1b[0m"


class Terminal:
    """Standard input and output of a program that owns its screen."""

    def __init__(self, fd_in: int = 0, fd_out: int = 1) -> None:
        self.fd_in = fd_in
        self._fd_out = fd_out
        self._found: list[Any] | None = None
        self._entered = False

    def make_raw(self) -> None:
        """Take every key as it is typed and echo nothing."""
        self._found = termios.tcgetattr(self.fd_in)
        iflag, oflag, cflag, lflag, ispeed, ospeed, controls = termios.tcgetattr(self.fd_in)
        iflag &= ~(termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP | termios.IXON)
        lflag &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        controls[termios.VMIN], controls[termios.VTIME] = 1, 0
        termios.tcsetattr(self.fd_in, termios.TCSANOW, [iflag, oflag, cflag, lflag, ispeed, ospeed, controls])

    def enter(self) -> None:
        """Ask for bracketed paste; the cursor is drawn, so the real one is hidden."""
        self._entered = True
        self.write(ENTER)

    def leave(self) -> None:
        """Give the terminal back; safe to call twice, and on a terminal that is gone."""
        found, self._found = self._found, None
        if found is None:
            return
        try:
            if self._entered:
                self.write(LEAVE + "\x1b]2;\x07")
            termios.tcsetattr(self.fd_in, termios.TCSANOW, found)
        except (OSError, termios.error):  # its pane was closed
            pass

    def read(self) -> bytes:
        """What was typed; empty when the terminal is gone."""
        try:
            return os.read(self.fd_in, 65536)
        except OSError:
            return b""

    def write(self, text: str) -> None:
        """Write all of *text*."""
        data = text.encode("utf-8", "replace")
        while data:
            try:
                data = data[os.write(self._fd_out, data) :]
            except OSError:  # its pane was closed; SIGHUP is on its way
                return

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        try:
            columns, rows = os.get_terminal_size(self._fd_out)
        except OSError:
            return 80, 24
        return max(20, columns or 80), max(8, rows or 24)
