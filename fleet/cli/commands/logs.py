"""Fleet's own logs: what the drain and the commands thought, and what failed in hooks. Oldest first.

On a terminal readable lines, else one JSON object a line. Secrets were taken out before the lines were written.

examples:
  fleet logs -n 50
  fleet logs -f --level warning
  fleet logs --agent fix-login --since 2h
  fleet logs --since 2026-11-30T13:00:00Z --json
"""

from __future__ import annotations

import json
import sys

from fleet.cli import output
from fleet.errors import EXIT_OK, UsageError
from fleet.operate import log_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet

FOLLOW_SECONDS = 0.2
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_HEAD = frozenset({"timestamp", "level", "log", "event", "exception", "pid"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument("--agent", metavar="AGENT", help="only lines about this agent or its dispatch")
    parser.add_argument("--since", metavar="T", help="only lines from then on: 10m, 2h, 3d ago, or an RFC 3339 time")
    parser.add_argument("--level", choices=log_files.LEVELS, default="debug", help="that level and worse")
    parser.add_argument("-n", "--lines", type=int, metavar="N", help="only that many, from the end")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, on a terminal too")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Print the lines."""
    if args.lines is not None and args.lines < 1:
        raise UsageError("--lines must be at least 1")
    since = since_of(args.since, fleet.clock.wall())
    ids = frozenset[str]()
    if args.agent is not None:
        agent = fleet.agents.find(args.agent, archived=True)
        ids = frozenset({agent.id, agent.dispatch_id})
    least = log_files.LEVELS.index(args.level)
    as_json = args.json or not sys.stdout.isatty()
    tails: dict[str, log_files.Tail] = {}

    def new() -> list[dict[str, Any]]:
        for path in log_files.current(fleet.layout):
            if path not in tails:
                tails[path] = log_files.Tail(path)
        found = [line for tail in tails.values() for line in tail.read()]
        found = [
            line for line in found
            if log_files.level_of(line) >= least and (since is None or log_files.at(line) >= since)
            and (not ids or log_files.concerns(line, ids))
        ]  # fmt: skip
        return sorted(found, key=log_files.at)

    shown = new()
    for line in shown[-args.lines :] if args.lines else shown:
        _print(line, as_json=as_json)
    if not shown and not args.follow:
        output.say("no such lines" if tails else "nothing was logged yet")
    while args.follow:
        fleet.clock.sleep(FOLLOW_SECONDS)
        for line in new():
            _print(line, as_json=as_json)
    return EXIT_OK


def since_of(text: str | None, now: float) -> float | None:
    """
    A moment as people say it, seconds since the epoch.

    Raises:
        UsageError: it is none.
    """
    from fleet.formats.times import parse  # noqa: PLC0415  # paid only where it is used

    if text is None:
        return None
    if text[-1:] in _UNITS and text[:-1].isascii() and text[:-1].isdigit() and len(text) < 12:
        return now - int(text[:-1]) * _UNITS[text[-1]]
    moment = parse(text) or parse(f"{text}T00:00:00Z")
    if moment is None:
        raise UsageError(f"--since {text!r} is no time", hint="10m, 2h, 3d, or 2026-11-30T13:00:00Z")
    return moment


def _print(line: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.line(line)
        return
    from fleet.cli import colour, width  # noqa: PLC0415  # paid only where it is used

    level = str(line["level"])
    if colour.enabled(sys.stdout):
        level = colour.paint(level.ljust(8), colour.LEVELS.get(level))
    rest = " ".join(f"{k}={_word(v)}" for k, v in line.items() if k not in _HEAD)
    stamp = str(line["timestamp"] or "-")[:19].ljust(19)
    print(f"{stamp}  {level:8}  {line['log']}: {width.printable(str(line['event']))}  {width.printable(rest)}".rstrip())
    for one in str(line.get("exception") or "").splitlines():
        print(f"    {width.printable(one)}")
    sys.stdout.flush()


def _word(value: Any) -> str:
    return value if isinstance(value, str) and value and " " not in value else json.dumps(value, ensure_ascii=False)
