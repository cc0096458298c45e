"""
How many terminal cells a text takes, and where a terminal would break it.

East Asian wide characters and emoji take two cells, combining marks none. Control characters never
reach here: the composer and the screen replace them.
"""

from __future__ import annotations


def cells(text: str) -> int:
    """The width of *text* in terminal cells."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(char: str) -> int:
    if char.isascii():
        return 1
    import unicodedata  # noqa: PLC0415  # most screens are ASCII and never need the tables

    if unicodedata.combining(char) or char in "\u200b\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrap(text: str, columns: int) -> list[str]:
    """Break *text* at its newlines and at *columns* cells; an empty text is one empty row."""
    rows: list[str] = []
    for line in text.split("\n"):
        if cells(line) <= columns:
            rows.append(line)
            continue
        row, used = "", 0
        for char in line:
            wide = _cell(char)
            if used + wide > columns:
                rows.append(row)
                row, used = "", 0
            row, used = row + char, used + wide
        rows.append(row)
    return rows


def cut(text: str, columns: int) -> str:
    """The first row of *text*."""
    return wrap(text, columns)[0] if text else ""


def printable(text: str) -> str:
    """*text* without what would move the cursor or change colours; newlines stay, tabs become four blanks."""
    if text.isprintable():
        return text
    text = text.replace("\t", "    ")
    return "".join(char for char in text if char == "\n" or char.isprintable() or char == "\u00a0")
