"""A short segment for tmux's status-right: how many agents wait for you, work, are over the threshold, were given up.

It reads a summary that the drain keeps and asks tmux nothing. `~` says that the summary is out of date; a new one is
then made in the background. `fleet keys print` shows the cheapest form of the command for status-right.

examples:
  fleet status-line
  fleet status-line --format '{waiting}{dead}' --width 20
  fleet status-line --json
"""

from __future__ import annotations

from fleet.cli import output
from fleet.errors import EXIT_OK, UsageError
from fleet.formats import segment
from fleet.status_line import line, refresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet

WIDEST = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--format", metavar="F", help="{waiting} {working} {idle} {over} {dead} {stale}, and any text; "
                        "the words of each are settings (status_line)")  # fmt: skip
    parser.add_argument("--width", type=int, metavar="N", help="at most so many columns (default: status_line.width)")
    parser.add_argument("--refresh", action="store_true", help="look at everything first, which asks tmux")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Print the line."""
    over: dict[str, object] = {}
    if args.format is not None:
        unknown = segment.unknown_names(args.format, segment.PIECES)
        if unknown:
            known = " ".join(f"{{{name}}}" for name in segment.PIECES)
            raise UsageError(f"--format does not know {{{unknown[0]}}}", hint=f"known: {known}")
        over["format"] = args.format
    if args.width is not None:
        if not 1 <= args.width <= WIDEST:
            raise UsageError(f"--width must be from 1 to {WIDEST}")
        over["width"] = args.width
    if args.refresh:
        from fleet.drain import summary  # noqa: PLC0415  # the looking is paid only where it was asked for

        fleet.make_home()
        summary.refresh(fleet)
    text, counts = line(fleet.layout, fleet.clock.wall(), over)
    if args.json:
        output.data(counts)
    else:
        print(text)
    if counts["stale"] and not args.refresh:
        refresh(fleet.layout, fleet.clock.wall())
    return EXIT_OK
