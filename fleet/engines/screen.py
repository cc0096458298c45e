"""Reading a styled screen (`capture-pane -e`): what stands in it, and how each character looks.

tmux carries attributes over from line to line; a placeholder is dim, typed text is not, and only a styled capture can
tell them apart (Claude Code 2.1.197, Codex 0.171.0). The block cursor is one reversed cell.
"""

from __future__ import annotations

import re
import unicodedata

from fleet.formats.enums import StrEnum
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_OTHER = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|\[[0-9;?]*[A-Za-ln-z]|[()][A-Z0-9]|[=>78])|[\x0e\x0f]")

_COLOURS = frozenset({"38", "48", "58"})  #: a colour follows: 5;N or 2;R;G;B
_COLOUR_CODES = {"5": 3, "2": 5}  #: how many codes there are with it
_GROUNDS = frozenset(str(code) for code in (*range(40, 48), *range(100, 108)))
_SETS: dict[str, dict[str, Any]] = {
    "1": {"bold": True}, "2": {"dim": True}, "7": {"reverse": True}, "22": {"dim": False, "bold": False},
    "27": {"reverse": False}, "49": {"back": ""},
}  # fmt: skip


class Cell(NamedTuple):
    """One character and how it looks."""

    char: str
    dim: bool
    reverse: bool
    bold: bool
    back: str = ""  #: its background as tmux names it; empty: the terminal's own


class Box(StrEnum):
    """What the place where a person types shows."""

    EMPTY = "empty"  #: nothing typed
    TEXT = "text"  #: something typed or pasted
    DIALOG = "dialog"  #: a question with options: any key may answer it
    UNKNOWN = "unknown"  #: no composer recognised


class Composer(NamedTuple):
    """The composer of an engine as a screen shows it."""

    box: Box
    text: str = ""  #: what is typed, lines joined by newlines, without the prompt glyph and the indent
    working: bool = False  #: the screen says that a turn is running


class _Style(NamedTuple):
    """What is set for the characters that follow."""

    dim: bool = False
    reverse: bool = False
    bold: bool = False
    back: str = ""

    def set(self, codes: list[str]) -> _Style:
        """The style after these codes."""
        style, at = self, 0
        while at < len(codes):
            code = codes[at].partition(":")[0].lstrip("0")
            width = _COLOUR_CODES.get(codes[at + 1], 2) if code in _COLOURS and at + 1 < len(codes) else 1
            if code == "":
                style = _Style()
            elif code in _SETS:
                style = style._replace(**_SETS[code])
            elif code == "48" or code in _GROUNDS:
                style = style._replace(back=";".join(codes[at : at + width]))
            at += width
        return style


def cells(lines: list[str]) -> list[list[Cell]]:
    """The lines as cells."""
    style = _Style()
    screen = []
    for line in lines:
        row: list[Cell] = []
        clean = _OTHER.sub("", line)
        position = 0
        while position < len(clean):
            found = _SGR.match(clean, position)
            if found:
                style = style.set((found[1] or "0").split(";"))
                position = found.end()
            else:
                row.append(Cell(clean[position], *style))
                position += 1
        screen.append(row)
    return screen


def columns(text: str) -> int:
    """How many columns it takes."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def within(line: str, width: int) -> str:
    """What of *line* stands in the first *width* columns."""
    for i, char in enumerate(line):
        width -= columns(char)
        if width < 0:
            return line[:i]
    return line


def plain(row: list[Cell]) -> str:
    """The characters of a row."""
    return "".join(cell.char for cell in row).rstrip()


def typed(rows: list[list[Cell]], indent: int) -> str:
    """
    What a person typed in those composer rows: what is not dim, without *indent* leading cells and the cursor.

    A placeholder under a cursor shows its first character reversed and the rest dim: that is nothing typed.
    """
    body = [row[indent:] for row in rows]
    visible = [cell for row in body for cell in row if cell.char.strip()]
    if visible and all(cell.dim or cell.reverse for cell in visible) and any(cell.dim for cell in visible):
        return ""
    text = "\n".join("".join(" " if cell.dim else cell.char for cell in row).rstrip() for row in body)
    return text.rstrip()
