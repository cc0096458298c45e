"""What tmux runs every few seconds in the user's status line: read a summary, print one line, be gone.

Run through `hooks/tmux_segment.py` by a bare interpreter (-I -S); it asks tmux nothing and loads what a hook loads. If
the summary is out of date it says so and has a new one made in the background, at most every few seconds.
"""

from __future__ import annotations

import os
import sys
import time

from fleet.formats import segment, status
from fleet.formats.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REFRESH_SECONDS = 5  #: the least time between two refreshes that status lines start
BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from fleet.cli.main import entry; entry()"


def line(layout: Layout, wall: float, theme: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    """The line and the counts in it; *theme* goes over the one of the settings."""
    data = status.read(layout)
    counts = status.counts(layout, data, wall)
    known = data.get("theme") if data else None
    return segment.render(counts, {**(known if isinstance(known, dict) else {}), **(theme or {})}), counts


def refresh(layout: Layout, wall: float) -> bool:
    """Start a process that makes the summary anew; whether this call did."""
    note = os.path.join(layout.run, "status.refreshed")
    try:
        if 0 <= wall - os.stat(note).st_mtime < REFRESH_SECONDS:
            return False
    except OSError:
        pass
    try:
        os.close(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(note, (wall, wall))
    except OSError:
        return False  # a home that cannot be written cannot hold a summary either
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    argv = [sys.executable, "-c", BOOT, package, "status-line", "--refresh"]
    devnull = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    env = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE", "FLEET_AGENT_ID")}
    try:
        os.posix_spawn(argv[0], argv, env | {"FLEET_HOME": layout.home}, file_actions=devnull, setsid=True)
    except NotImplementedError:  # a libc without POSIX_SPAWN_SETSID: a process group of its own has to do
        os.posix_spawn(argv[0], argv, env | {"FLEET_HOME": layout.home}, file_actions=devnull, setpgroup=0)
    return True


def main(argv: list[str]) -> int:
    """Print the line of the fleet home that is named, else of FLEET_HOME."""
    home = argv[0] if argv else os.environ.get("FLEET_HOME") or os.path.expanduser("~/.fleet")
    layout, wall = Layout(home), time.time()
    text, counts = line(layout, wall)
    os.write(1, text.encode("utf-8", "replace") + b"\n")
    if counts["stale"]:
        refresh(layout, wall)
    return 0
