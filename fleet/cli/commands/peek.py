"""An agent's screen, without attaching; of an ended agent the last one it had.

examples:
  fleet peek fix-login
  fleet peek fix-login -n 200 -f    200 lines of its history, and go on
"""

from __future__ import annotations

import os
import sys

from fleet.cli import output
from fleet.cli.width import printable
from fleet.errors import EXIT_OK, NotFound, Unreachable, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet
    from fleet.model.agent import Agent

FOLLOW_SECONDS = 0.5
DEAD_HISTORY = 200  #: tmux writes "Pane is dead" on the last line, and what stood at the top scrolls out of sight


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agent", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("-n", "--lines", type=int, metavar="LINES", help="that many lines from the end")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C or the agent's end")
    parser.add_argument("--json", action="store_true", help="print the lines as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Print the screen."""
    if args.lines is not None and args.lines < 1:
        raise UsageError("--lines must be at least 1")
    agent = fleet.agents.find(args.agent, archived=True)
    lines, live = screen(fleet, agent, args.lines)
    if args.json:
        output.data({"id": agent.id, "live": live, "lines": lines})
        return EXIT_OK
    print("\n".join(lines))
    while args.follow and live:
        fleet.clock.sleep(FOLLOW_SECONDS)
        before = lines
        lines, live = screen(fleet, agent, args.lines)
        if lines != before:
            clear = "\033[2J\033[H" if sys.stdout.isatty() else "\f\n"
            print(clear + "\n".join(lines), flush=True)
    return EXIT_OK


def without_gaps(lines: list[str]) -> list[str]:
    """The lines with every run of empty ones made one."""
    return [line for before, line in zip(["", *lines], lines, strict=False) if line.strip() or before.strip()]


def screen(fleet: Fleet, agent: Agent, count: int | None) -> tuple[list[str], bool]:
    """The lines, and whether they are a living pane's."""
    pane = fleet.looker().snapshot(agent.socket).of_agent(agent.id, agent.pane_id, agent.server_pid)
    if pane is not None:
        try:
            above = count or (DEAD_HISTORY if pane.dead else 0)
            lines = fleet.panes_on(agent.socket or fleet.socket).capture(pane.pane_id, history=above)
            lines = without_gaps(lines) if pane.dead else lines
            return lines[-count:] if count else lines, not pane.dead
        except Unreachable:
            pass
    path = fleet.layout.screen(agent.id)
    if not os.path.exists(path):
        raise NotFound(f"agent {agent.id} has no pane, and no screen of it was kept")
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = [printable(line) for line in f.read().rstrip("\n").split("\n")]
    return lines[-count:] if count else lines, False
