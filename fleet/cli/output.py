"""Printing: data on stdout, words on stderr, one shape for text and JSON."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager

from fleet.formats import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from fleet.errors import FleetError

SLOW_SECONDS = 2.0  #: after which a command says what it is at
LEAST_COLUMNS = 8  #: no column is cut to less
LEAST_TEXT, NARROW_INDENT = 24, 4  #: columns for a text beside its head; where there are fewer, it goes below
_ASCII = frozenset({"ANSI_X3.4-1968", "US-ASCII", "ASCII", "646"})  #: what C and POSIX are called


def say(text: str) -> None:
    """A word to the operator."""
    sys.stderr.write(text + "\n")


@contextmanager
def when_slow(doing: str, seconds: float = SLOW_SECONDS) -> Iterator[None]:
    """Say in one line what is being done when it takes longer than *seconds*, on a terminal or not."""
    timer = threading.Timer(seconds, say, (f"fleet: {doing}",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a word of what is over must not come after how it ended


def data(value: Any) -> None:
    """JSON on stdout; of an array one element a line, which is readable and a third of the cost."""
    if isinstance(value, list) and value:
        text = "[\n" + ",\n".join(jsontext.dumps(one, ascii_only=_escaped()) for one in value) + "\n]"
    else:
        text = _indented(value)
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def _indented(value: Any) -> str:
    if not _escaped():
        return jsontext.pretty(value)
    import json  # noqa: PLC0415  # only for a terminal that cannot say everything

    return json.dumps(value, indent=2)


def _escaped() -> bool:
    """Whether JSON must be ASCII, because stdout cannot say everything: it then loses nothing."""
    return not (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")


def line(value: Any) -> None:
    """One line of JSON, at once: for what is read while it goes on."""
    sys.stdout.write(jsontext.dumps(value, ascii_only=_escaped()).encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def error(failure: FleetError) -> None:
    """One clear line, and a hint where there is one."""
    say(f"fleet: {' '.join(str(failure).split())}")
    if failure.hint:
        say(f"hint: {failure.hint}")


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: frozenset[str] = frozenset(),
    shrink: Sequence[str] = (),
    drop: Sequence[str] = (),
    paint: Callable[[str, str], str | None] | None = None,
) -> None:
    """
    Columns as wide as they must be; on a terminal no wider than it.

    Args:
        right: the headings of columns that are aligned at their right.
        shrink: the columns that are cut when there is no room, the first of them first; then the last column is.
        drop: the columns that are left out when that is not enough, the first of them first.
        paint: from a heading and a cell's text to its colour, where there are colours.
    """
    from fleet.cli import colour, width  # noqa: PLC0415  # paid only by commands that print tables

    lines = [[width.printable(cell) for cell in row] for row in [headings, *rows]]
    wanted = [max(width.columns(row[n]) for row in lines) for n in range(len(headings))]
    limit = terminal_columns()
    if limit:
        places = {heading: n for n, heading in enumerate(headings)}
        narrow = [places[one] for one in shrink] or [len(headings) - 1]
        wanted = width.fit(wanted, limit, narrow, [places[one] for one in drop], least=LEAST_COLUMNS)
    dots = "…" if "utf" in (getattr(sys.stdout, "encoding", None) or "utf").lower() else "~"
    coloured = paint is not None and colour.enabled(sys.stdout)
    for number, row in enumerate(lines):
        cells, left = [], limit or 1_000_000
        for heading, cell, room in zip(headings, row, wanted, strict=True):
            if room and left > 0:
                shown = width.pad(width.cut(cell, min(room, left), dots=dots), min(room, left), right=heading in right)
                cells.append(colour.paint(shown, paint(heading, cell) if paint and coloured and number else None))
                left -= room + 2
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def hanging(head: str, text: str, *, beside: bool = True) -> None:
    """
    *head*, then *text*; where they do not fit on a line of the terminal, the text stands beside or below the head.

    Args:
        beside: further lines stand beside the head, when that leaves them some room.
    """
    limit = terminal_columns()
    if limit:
        from fleet.cli import width  # noqa: PLC0415  # paid only where it is used

        at = width.columns(head)
        if at + width.columns(text) > limit:
            below = not beside or limit - at < LEAST_TEXT
            at = min(NARROW_INDENT, limit // 4) if below else at
            lines = width.wrap(text, max(limit - at, 2))
            text = ("\n" + " " * at).join([""] * below + lines)
            head = "\n".join(width.wrap(head.rstrip(), max(limit, 2))) if below else head
    sys.stdout.write(f"{head}{text}".rstrip() + "\n")
    sys.stdout.flush()


def terminal_columns() -> int:
    """How wide the terminal on stdout is; 0 when there is none, or it does not say."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0
    except (OSError, ValueError):
        return 0


def prepare() -> None:
    """
    Make printing safe in any locale: what cannot be written there becomes a replacement character.

    Python (3.11) takes the C and POSIX locales for UTF-8. In any other that is none, `main` runs under UTF-8 mode, so
    that arguments and file names survive byte for byte, and here the streams get the locale's own encoding back.
    """
    import locale  # noqa: PLC0415  # already there by now, imported by the interpreter

    for stream in (sys.stdout, sys.stderr):
        if not hasattr(stream, "reconfigure"):
            continue
        if sys.flags.utf8_mode and not os.environ.get("PYTHONIOENCODING"):
            own = locale.getencoding()
            stream.reconfigure(encoding="utf-8" if own.upper() in _ASCII else own, errors="replace")
        else:
            stream.reconfigure(errors="replace")


def age(seconds: float | None) -> str:
    """`12s`, `5m`, `3h`, `2d`; `-` for an unknown one."""
    if seconds is None:
        return "-"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(max(seconds, 0))}s"


def size(value: int | None) -> str:
    """Bytes as `230M`."""
    return "-" if value is None else f"{value / 1024 / 1024:.0f}M"
