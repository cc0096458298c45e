"""How wide a text is on a terminal, and what is left of it in a narrower place. Wide characters take two columns."""

from __future__ import annotations


def columns(text: str) -> int:
    """The columns that *text* takes."""
    return len(text) if text.isascii() else sum(map(_one, text))


def _one(character: str) -> int:
    if character.isascii():
        return 1
    import unicodedata  # noqa: PLC0415  # most tables are ASCII

    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, room: int, *, dots: str = "…") -> str:
    """*text* in at most *room* columns, with *dots* where something was left out."""
    if columns(text) <= room:
        return text
    dots = dots if room > columns(dots) else ""
    kept, used = "", columns(dots)
    for character in text:
        used += _one(character)
        if used > room:
            break
        kept += character
    return kept + dots


def wrap(text: str, room: int) -> list[str]:
    """*text* in lines of at most *room* columns, broken at blanks where there are any; not one character is lost."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if columns(longer) <= room:
            line = longer
            continue
        if line:
            lines.append(line)
        while columns(word) > room:
            head = cut(word, room, dots="") or word[:1]
            lines.append(head)
            word = word[len(head) :]  # noqa: PLW2901  # what is left of it
        line = word
    return [*lines, line]


def pad(text: str, room: int, *, right: bool = False) -> str:
    """*text* filled up with blanks to *room* columns."""
    blanks = " " * (room - columns(text))
    return blanks + text if right else text + blanks


def printable(text: str) -> str:
    """*text* without what would move a cursor, change a colour or begin a new line."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\u00a0" else " " for c in text)


def fit(wanted: list[int], limit: int, shrink: list[int], drop: list[int], *, least: int, gap: int = 2) -> list[int]:
    """
    The widths of columns on a line of *limit* columns; 0 for one that is left out.

    Args:
        wanted: the widths that would show everything.
        shrink: the columns that may become narrower, the first of them first, down to *least*.
        drop: the columns that may be left out, the first of them first.
    """
    kept = list(range(len(wanted)))
    drop = list(drop)
    while True:
        widths = [wanted[n] if n in kept else 0 for n in range(len(wanted))]
        over = sum(widths) + gap * (len(kept) - 1) - limit
        for n in shrink:
            if over > 0 and n in kept:
                less = min(over, max(0, widths[n] - least))
                widths[n] -= less
                over -= less
        if over <= 0 or not drop:
            return widths
        kept.remove(drop.pop(0))
