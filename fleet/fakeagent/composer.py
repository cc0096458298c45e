"""
The box in which a prompt is written.

It holds what was typed or pasted, over several lines. A long paste (more than three lines, or 800
characters) shows as `[Pasted text #1 +29 lines]` and is put back in full when the prompt is sent.
Blanks at the end of what is shown are not sent; those at the beginning are, and those inside a chip. An
empty box may show a placeholder, with the cursor on its first letter.
"""

from __future__ import annotations

import re

from fleet.fakeagent import style
from fleet.fakeagent.width import cells, wrap

LONG_PASTE_CHARACTERS = 800
LONG_PASTE_LINES = 3
CHIP = re.compile(r"\[Pasted text #(\d+)(?: \+\d+ lines)?\]")


class Composer:
    """The text being written."""

    def __init__(self) -> None:
        self.shown = ""
        self._pastes: dict[int, str] = {}
        self._count = 0

    @property
    def text(self) -> str:
        """What would be sent."""
        return CHIP.sub(lambda chip: self._pastes.get(int(chip[1]), chip[0]), self.shown.rstrip())

    def type(self, text: str) -> None:
        """Add *text* at the end."""
        self.shown += text

    def paste(self, text: str) -> None:
        """Add pasted *text*, as a chip when it is long."""
        breaks = text.count("\n")
        self._count += 1
        if breaks < LONG_PASTE_LINES and len(text) <= LONG_PASTE_CHARACTERS:
            self.shown += text
            return
        self._pastes[self._count] = text
        self.shown += f"[Pasted text #{self._count}" + (f" +{breaks} lines]" if breaks else "]")

    def put_back(self, text: str) -> None:
        """A prompt that was taken back stands in the box again, before anything typed since."""
        self.shown = text + self.shown

    def erase(self, name: str) -> None:
        """`backspace`, `ctrl-w` (a word) or `ctrl-u` (the line, then the break before it)."""
        if name == "backspace":
            self.shown = self.shown[:-1]
        elif name == "ctrl-w":
            self.shown = re.sub(r"\S*\s*\Z", "", self.shown)
        elif self.shown.endswith("\n"):
            self.shown = self.shown[:-1]
        else:
            self.shown = self.shown[: self.shown.rfind("\n") + 1]

    def take(self) -> str:
        """What is sent; the box is empty then."""
        text = self.text
        self.clear()
        return text

    def clear(self) -> None:
        """Throw the text away."""
        self.shown = ""
        self._pastes = {}

    def rows(self, columns: int, limit: int, *, placeholder: str, busy: bool) -> tuple[list[str], int]:
        """The rows between the two rules, at most *limit*, and the column of the cursor in the last one."""
        lead = style.grey(style.PROMPT + style.NO_BREAK) if busy else style.PROMPT + style.NO_BREAK
        if not self.shown:
            shown = style.reverse(placeholder[:1] or " ") + (style.dim(placeholder[1:]) if placeholder[1:] else "")
            return [lead + shown], 2
        rows = wrap(self.shown, columns - 3)
        last = 2 + cells(rows[-1])
        styled = [(lead if place == 0 else "  ") + row for place, row in enumerate(rows)]
        styled[-1] += style.reverse(" ")
        return styled[-limit:], last
