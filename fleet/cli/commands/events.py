"""What happened to an agent: its hooks' reports and fleet's own acts, oldest first.

examples:
  fleet events fix-login
  fleet events fix-login -f         go on as things happen
"""

from __future__ import annotations

import json

from fleet.cli import output
from fleet.errors import EXIT_OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet

FOLLOW_SECONDS = 0.2
LINE_CHARACTERS = 400
HIDDEN = frozenset({"v", "ts", "source", "event", "session_id", "transcript_path", "cwd", "turn_id"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agent", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("-n", "--lines", type=int, metavar="LINES", help="only that many, from the end")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C or the agent's end")
    parser.add_argument("--json", action="store_true", help="print an array; with --follow one object a line")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Print the events."""
    if args.lines is not None and args.lines < 1:
        raise UsageError("--lines must be at least 1")
    agent = fleet.agents.find(args.agent, archived=True)
    seen = _all(fleet, agent.id)
    shown = seen[-args.lines :] if args.lines else seen
    if args.json and not args.follow:
        output.data(shown)
        return EXIT_OK
    for event in shown:
        _print(event, as_json=args.json)
    while args.follow and fleet.agents.get(agent.id) is not None:
        fleet.clock.sleep(FOLLOW_SECONDS)
        now = _all(fleet, agent.id)
        for event in now[len(seen) :]:
            _print(event, as_json=args.json)
        seen = now
    return EXIT_OK


def _all(fleet: Fleet, agent_id: str) -> list[dict[str, Any]]:
    return list(fleet.journal.newest_first(agent_id, limit_bytes=None))[::-1]


def _print(event: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(event, ensure_ascii=False), flush=True)
        return
    rest = " ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in event.items() if k not in HIDDEN)
    head = f"{event.get('ts', '-')}  {event.get('source', '-'):5}  {event['event']:18} "
    output.hanging(head, rest[: max(0, LINE_CHARACTERS - len(head))], beside=False)
