"""What waits to be carried out: handoffs, dispatches without room yet, and those of both that were given up.

examples:
  fleet queue list
  fleet queue retry a1b2c3d4
  fleet queue drop fix-login    give it up for good; the document or the agent of a handoff stays
"""

from __future__ import annotations

import os

from fleet.cli import output
from fleet.drain.attempts import Attempts
from fleet.errors import EXIT_NO, EXIT_OK, Ambiguous, BadFile, NotFound, UsageError
from fleet.formats import queue_entry, start_entry
from fleet.formats.atomic import move_no_clobber, remove_file
from fleet.formats.ids import is_id
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet

HANDOFF, DISPATCH = "handoff", "dispatch"
HANDOFF_ONLY = ("old_agent_id", "new_agent_id", "handoff_doc")
HEADINGS = ("ID", "KIND", "PROJECT", "TASK", "PRIORITY", "STATE", "FAILURES", "NEXT", "LAST ERROR")
DROP = ("PRIORITY", "PROJECT", "LAST ERROR", "NEXT", "FAILURES")  #: what a narrow terminal does without


class Place(NamedTuple):
    """Where something waits, or waited until it was given up."""

    kind: str
    id: str  #: of the old agent, or of the dispatch
    queued: str
    dead: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("list", "retry", "drop"), nargs="?", default="list")
    parser.add_argument("id", nargs="?", metavar="ID", help="for retry and drop: the agent that hands off, or the "
                        "dispatch that waits; a task name does, too")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """List, retry or drop."""
    if args.action == "list":
        return _list(args, fleet)
    if args.id is None:
        raise UsageError(f"which? fleet queue {args.action} ID", hint="`fleet queue list` shows them")
    place = _find(fleet, args.id)
    from fleet.drain.carry import start_background  # noqa: PLC0415  # paid only where it is used

    Attempts(fleet.layout, place.id, fleet.clock).forget()
    if args.action == "retry":
        if os.path.exists(place.dead):
            move_no_clobber(place.dead, place.queued)
    else:
        remove_file(place.dead)
        remove_file(place.queued)
    if place.kind == HANDOFF:
        if args.action == "drop":
            fleet.agents.update(place.id, handoff_type=None, handoff_type_at=None)
        fleet.journal.tell(place.id, "Retried" if args.action == "retry" else "Dropped", source="cli")
    start_background(fleet)
    if args.json:
        output.data({"kind": place.kind, "id": place.id, "action": args.action})
    else:
        print(f"{place.id}  {'queued again' if args.action == 'retry' else 'dropped'}")
    return EXIT_OK


def _find(fleet: Fleet, token: str) -> Place:
    """
    What waits under an id or a task's name.

    Raises:
        NotFound: nothing does.
        Ambiguous: several things do.
    """
    if is_id(token):
        for place in (_handoff(fleet, token), _dispatch(fleet, token)):
            if _is_there(place):
                return place
    rows, _ = rows_of(fleet)
    found = [
        row
        for row in rows
        if token == row["agent_id"] or token in (row["task_id"], f"{row['project']}/{row['task_id']}")
    ]
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} things wait under {token!r}", hint=", ".join(row["id"] for row in found))
    if not found:
        if not is_id(token):
            place = _handoff(fleet, fleet.agents.find(token).id)
            if _is_there(place):
                return place
        raise NotFound(f"nothing of {token!r} is queued or given up", hint="`fleet queue list` shows what is")
    (row,) = found
    return _handoff(fleet, row["id"]) if row["kind"] == HANDOFF else _dispatch(fleet, row["id"])


def _is_there(place: Place) -> bool:
    return os.path.exists(place.queued) or os.path.exists(place.dead)


def _handoff(fleet: Fleet, old_id: str) -> Place:
    return Place(HANDOFF, old_id, fleet.layout.entry(old_id), fleet.layout.dead_entry(old_id))


def _dispatch(fleet: Fleet, dispatch_id: str) -> Place:
    return Place(DISPATCH, dispatch_id, fleet.layout.start_entry(dispatch_id), fleet.layout.dead_start(dispatch_id))


def _list(args: argparse.Namespace, fleet: Fleet) -> int:
    rows, bad = rows_of(fleet)
    if args.json:
        output.data(rows)
    elif rows:
        output.table(HEADINGS, [_cells(row) for row in rows], shrink=("LAST ERROR", "TASK"), drop=DROP)
    elif not bad:
        output.say("the queue is empty")
    for error in bad:
        output.error(error)
    return EXIT_NO if bad else EXIT_OK


def rows_of(fleet: Fleet) -> tuple[list[dict[str, Any]], list[BadFile]]:
    """What waits and what was given up, in the order in which it is carried out; and what cannot be read."""
    rows: list[dict[str, Any]] = []
    bad: list[BadFile] = []
    for folder, state in ((fleet.layout.queue, "queued"), (fleet.layout.dead, "dead")):
        try:
            names = sorted(os.listdir(folder))
        except FileNotFoundError:
            continue
        for name in names:
            read = (
                _handoff_row
                if queue_entry.id_of_name(name)
                else _dispatch_row
                if start_entry.id_of_name(name)
                else None
            )
            if read is None:
                continue
            try:
                rows.append(_with_attempts(fleet, {**read(os.path.join(folder, name)), "state": state}))
            except FileNotFoundError:
                continue
            except BadFile as e:
                bad.append(e)
    rows.sort(key=lambda row: (row["kind"] != HANDOFF, -row["priority"], str(row["enqueued_at"]), row.pop("place")))
    return rows, bad


def _handoff_row(path: str) -> dict[str, Any]:
    entry = queue_entry.read(path)
    return {
        "kind": HANDOFF,
        "id": entry["old_agent_id"],
        "agent_id": entry["new_agent_id"],
        **{name: entry.get(name) for name in HANDOFF_ONLY},
        **{name: entry.get(name) for name in ("project", "task_id", "enqueued_at")},
        "priority": 0,
        "place": 0,
    }


def _dispatch_row(path: str) -> dict[str, Any]:
    entry = start_entry.read(path)
    return {
        "kind": DISPATCH,
        "id": entry["dispatch_id"],
        "agent_id": entry["order"]["agent_id"],
        **dict.fromkeys(HANDOFF_ONLY),
        **{name: entry["order"][name] for name in ("project", "task_id")},
        "enqueued_at": entry.get("enqueued_at"),
        "priority": entry["priority"],
        "place": entry["place"],
    }


def _with_attempts(fleet: Fleet, row: dict[str, Any]) -> dict[str, Any]:
    attempts = Attempts(fleet.layout, row["id"], fleet.clock)
    queued = row["state"] == "queued"
    return {
        **row,
        "failures": attempts.count,
        "last_error": attempts.last_error,
        "next_attempt_at": attempts.data.get("next_attempt_at") if queued else None,
        "seconds_left": round(attempts.seconds_left()) if queued and row["kind"] == HANDOFF else None,
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    left = row["seconds_left"]
    return (
        row["id"], row["kind"], str(row["project"]), str(row["task_id"]), str(row["priority"]), row["state"],
        str(row["failures"]), "-" if left is None else "now" if left == 0 else output.age(left),
        row["last_error"] or "-",
    )  # fmt: skip
