"""Remove what nobody needs any more: ended dispatches, documents, logs, locks, leftovers of launches, free worktrees.

Nothing is removed without --apply, and with it only what is let go when it is judged once more just before. How old
each kind must be the settings gc.* say, in days; 0 keeps it for ever, as patches of rescues are by default. Kept are,
whatever their age: all of a dispatch of which an agent lives, waits or was given up, or whose worktree stands;
messages that nobody got; documents that anything names; worktrees with work in them; and of a kind in which something
cannot be read, everything.

examples:
  fleet gc
  fleet gc --apply
  fleet gc --kinds logs,locks --apply --json

exit codes: 0 done; 1 something could not be removed; 2 wrong usage, or something could not be judged.
"""

from __future__ import annotations

from fleet.cli import output
from fleet.errors import EXIT_NO, EXIT_OK, EXIT_USAGE, FleetError, UsageError
from fleet.operate import gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    names = ",".join(gc.Kind)
    parser.add_argument("--apply", action="store_true", help="do it; without, only say what would go")
    parser.add_argument("--kinds", metavar="KINDS", default=names, help="only these, by commas (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print what goes as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Judge, and remove when told to."""
    kinds = _kinds(args.kinds)
    found = gc.plan(fleet, kinds)
    rows, failed = [], False
    for item in found.items:
        row: dict[str, Any] = {
            "kind": str(item.kind), "what": item.what, "why": item.why, "bytes": item.size(), "paths": len(item.paths),
            "age_days": None if item.age_days is None else round(item.age_days, 1), "done": False, "error": None,
        }  # fmt: skip
        if args.apply:
            try:
                row["done"] = gc.carry_out(fleet, item)
                row["error"] = None if row["done"] else "it is of use again"
            except (FleetError, OSError) as e:
                row["error"], failed = str(e), True
        rows.append(row)
    if args.json:
        output.data(rows)
    else:
        _print(rows, applied=args.apply)
    for one in found.blocked:
        output.say(f"fleet: of the kind {one.kind} nothing goes: {one.why}")
    return EXIT_NO if failed else EXIT_USAGE if found.blocked else EXIT_OK


def _kinds(text: str) -> list[gc.Kind]:
    known = {str(kind): kind for kind in gc.Kind}
    found = []
    for name in text.split(","):
        if name.strip() not in known:
            raise UsageError(f"{name.strip()!r} is no kind", hint=f"one or more of {','.join(known)}")
        found.append(known[name.strip()])
    return list(dict.fromkeys(found))


def _print(rows: list[dict[str, Any]], *, applied: bool) -> None:
    if not rows:
        output.say("nothing is old enough to go")
        return
    table = [
        [
            row["kind"], row["what"], "-" if row["age_days"] is None else f"{row['age_days']:.0f}d",
            f"{row['bytes'] / 1024:.0f}K", row["error"] or (f"gone: {row['why']}" if row["done"] else row["why"]),
        ]
        for row in rows
    ]  # fmt: skip
    output.table(
        ["KIND", "WHAT", "AGE", "SIZE", "WHY"], table, right=frozenset({"AGE", "SIZE"}), shrink=("WHAT", "WHY")
    )
    total = sum(row["bytes"] for row in rows if row["done"] or not applied)
    output.say(f"{total / 1024:.0f}K {'freed' if applied else 'would be freed; `fleet gc --apply` does it'}")
