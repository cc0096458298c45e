"""Printing: data on stdout, words on stderr, one shape for text and JSON."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fleet.errors import FleetError


def say(text: str) -> None:
    """A word to the operator."""
    sys.stderr.write(text + "\n")


def data(value: Any) -> None:
    """JSON on stdout; of an array one element a line, which is readable and a third of the cost."""
    if isinstance(value, list) and value:
        text = "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in value) + "\n]"
    else:
        text = json.dumps(value, indent=2, ensure_ascii=False)
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def error(failure: FleetError) -> None:
    """One clear line, and a hint where there is one."""
    say(f"fleet: {' '.join(str(failure).split())}")
    if failure.hint:
        say(f"hint: {failure.hint}")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[str] = frozenset()) -> None:
    """Columns as wide as they must be, cut at the terminal's width."""
    widths = [max(len(h), *(len(r[i]) for r in rows)) if rows else len(h) for i, h in enumerate(headings)]
    limit = os.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    for row in [headings, *rows]:
        cells = (
            cell.rjust(width) if heading in right else cell.ljust(width)
            for cell, width, heading in zip(row, widths, headings, strict=True)
        )
        sys.stdout.write("  ".join(cells).rstrip()[:limit] + "\n")


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
