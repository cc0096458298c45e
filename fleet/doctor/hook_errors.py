"""What hooks wrote when they failed: `logs/hook-errors.log`, one stamped line and a traceback each."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.formats.layout import Layout

TAIL_BYTES = 64 * 1024


def newest_failure(layout: Layout) -> str | None:
    """The head and the last line of the newest failure; None when no hook has ever failed."""
    lines: list[str] = []
    for name in ("hook-errors.log", "hook-errors.log.1"):  # the first is missing where a rotation was cut short
        try:
            with open(os.path.join(layout.logs, name), "rb") as f:
                f.seek(max(0, os.fstat(f.fileno()).st_size - TAIL_BYTES))
                lines = f.read().decode("utf-8", "replace").splitlines()
            break
        except OSError:
            continue
    heads = [n for n, line in enumerate(lines) if line[:2].isdigit() and "Z " in line[:40]]
    if not heads:
        return lines[-1] if lines else None
    return f"{lines[heads[-1]]}: {lines[-1]}" if lines[-1] != lines[heads[-1]] else lines[-1]
