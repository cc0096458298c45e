"""Reading a styled screen (`capture-pane -e`): what stands in it, and what of it is dim, reversed or bold.

tmux carries attributes over from line to line; a placeholder is dim, typed text is not, and only a styled capture can
tell them apart (Claude Code 2.1.197, Codex 0.171.0). The block cursor is one reversed cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_OTHER = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|\[[0-9;?]*[A-Za-ln-z]|[()][A-Z0-9]|[=>78])|[\x0e\x0f]")


@dataclass(frozen=True, slots=True)
class Cell:
    """One character and how it looks."""

    char: str
    dim: bool
    reverse: bool
    bold: bool


class Box(StrEnum):
    """What the place where a person types shows."""

    EMPTY = "empty"  #: nothing typed
    TEXT = "text"  #: something typed or pasted
    DIALOG = "dialog"  #: a question with options: any key may answer it
    UNKNOWN = "unknown"  #: no composer recognised


@dataclass(frozen=True, slots=True)
class Composer:
    """The composer of an engine as a screen shows it."""

    box: Box
    text: str = ""  #: what is typed, lines joined by newlines, without the prompt glyph and the indent
    working: bool = False  #: the screen says that a turn is running


def cells(lines: list[str]) -> list[list[Cell]]:
    """The lines as cells."""
    dim = reverse = bold = False
    screen = []
    for line in lines:
        row: list[Cell] = []
        clean = _OTHER.sub("", line)
        position = 0
        while position < len(clean):
            found = _SGR.match(clean, position)
            if found:
                for code in (found[1] or "0").split(";"):
                    if code in ("0", ""):
                        dim = reverse = bold = False
                    elif code == "1":
                        bold = True
                    elif code == "2":
                        dim = True
                    elif code == "7":
                        reverse = True
                    elif code == "22":
                        dim = bold = False
                    elif code == "27":
                        reverse = False
                    elif code in ("38", "48", "58"):
                        break  # what follows are the parts of a colour
                position = found.end()
            else:
                row.append(Cell(clean[position], dim, reverse, bold))
                position += 1
        screen.append(row)
    return screen


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
