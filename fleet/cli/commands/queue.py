"""Handoffs that wait to be carried out, and those given up.

examples:
  fleet queue list
  fleet queue retry a1b2c3d4
  fleet queue drop a1b2c3d4     give the handoff up for good; document and agent stay
"""

from __future__ import annotations

import os

from fleet.cli import output
from fleet.drain.attempts import Attempts
from fleet.drain.carry import start_background
from fleet.errors import EXIT_NO, EXIT_OK, BadFile, NotFound, UsageError
from fleet.formats import queue_entry
from fleet.formats.atomic import move_no_clobber, remove_file
from fleet.formats.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet

SHOWN = ("old_agent_id", "new_agent_id", "project", "task_id", "handoff_doc", "enqueued_at")
HEADINGS = ("OLD", "NEW", "PROJECT", "TASK", "STATE", "FAILURES", "NEXT", "LAST ERROR")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("list", "retry", "drop"), nargs="?", default="list")
    parser.add_argument("agent", nargs="?", metavar="OLD_ID", help="the agent that hands off, for retry and drop")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """List, retry or drop."""
    if args.action == "list":
        return _list(args, fleet)
    if args.agent is None:
        raise UsageError(f"which handoff? fleet queue {args.action} OLD_ID", hint="`fleet queue list` shows them")
    old_id = args.agent if is_id(args.agent) else fleet.agents.find(args.agent).id
    entry, dead = fleet.layout.entry(old_id), fleet.layout.dead_entry(old_id)
    if not os.path.exists(entry) and not os.path.exists(dead):
        raise NotFound(f"no handoff of agent {old_id} is queued or given up", hint="`fleet queue list` shows them")
    Attempts(fleet.layout, old_id, fleet.clock).forget()
    if args.action == "retry":
        if os.path.exists(dead):
            move_no_clobber(dead, entry)
        fleet.journal.tell(old_id, "Retried", source="cli")
        start_background(fleet)
    else:
        remove_file(dead)
        remove_file(entry)
        fleet.agents.update(old_id, handoff_type=None, handoff_type_at=None)
        fleet.journal.tell(old_id, "Dropped", source="cli")
        start_background(fleet)
    done = {"old_agent_id": old_id, "action": args.action}
    if args.json:
        output.data(done)
    else:
        print(f"{old_id}  {'queued again' if args.action == 'retry' else 'dropped'}")
    return EXIT_OK


def _list(args: argparse.Namespace, fleet: Fleet) -> int:
    rows, bad = [], []
    for folder, state in ((fleet.layout.queue, "queued"), (fleet.layout.dead, "dead")):
        try:
            names = sorted(os.listdir(folder))
        except FileNotFoundError:
            continue
        for name in names:
            if queue_entry.id_of_name(name):
                try:
                    rows.append(_row(fleet, os.path.join(folder, name), state))
                except FileNotFoundError:
                    continue
                except BadFile as e:
                    bad.append(e)
    if args.json:
        output.data(rows)
    elif rows:
        output.table(HEADINGS, [_cells(row) for row in rows])
    elif not bad:
        output.say("the queue is empty")
    for error in bad:
        output.error(error)
    return EXIT_NO if bad else EXIT_OK


def _row(fleet: Fleet, path: str, state: str) -> dict[str, Any]:
    entry = queue_entry.read(path)
    attempts = Attempts(fleet.layout, entry["old_agent_id"], fleet.clock)
    return {
        **{name: entry.get(name) for name in SHOWN},
        "state": state,
        "failures": attempts.count,
        "last_error": attempts.last_error,
        "next_attempt_at": attempts.data.get("next_attempt_at") if state == "queued" else None,
        "seconds_left": round(attempts.seconds_left()) if state == "queued" else None,
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    left = row["seconds_left"]
    return (
        row["old_agent_id"], row["new_agent_id"], str(row["project"]), str(row["task_id"]), row["state"],
        str(row["failures"]), "-" if left is None else "now" if left == 0 else output.age(left),
        row["last_error"] or "-",
    )  # fmt: skip
