"""The git worktrees that agents were given: who holds what, what is dirty, unpushed, merged or lost.

examples:
  fleet worktree list
  fleet worktree prune            what could go, and why the rest stays; changes nothing
  fleet worktree prune --apply    remove what is clean and pushed or merged and held by nobody; mend what was cut short

Nothing that fleet did not make is ever removed, nor the tree of an agent that was not stopped.
"""

from __future__ import annotations

import os

from fleet.cli import output
from fleet.errors import EXIT_NO, EXIT_OK, FleetError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.worktree.survey import Judgement

HEADINGS = ("BRANCH", "AGENT", "CHANGES", "UNPUSHED", "MERGED", "NEXT", "WHY", "PATH")
DROP = ("MERGED", "UNPUSHED", "WHY", "CHANGES", "AGENT")  #: what a narrow terminal does without


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("list", "prune"), nargs="?", default="list")
    parser.add_argument("--apply", action="store_true", help="prune: do it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """List or prune."""
    if args.apply and args.action != "prune":
        raise UsageError("--apply goes with prune", hint="fleet worktree prune --apply")
    from fleet.worktree.survey import survey  # noqa: PLC0415  # paid only where it is used

    judged = survey(fleet)
    if args.action == "list":
        _show([_view(one) for one in judged], as_json=args.json)
        return EXIT_OK
    rows, failed = [], False
    for one in judged:
        row = {**_view(one), "done": False, "branch_outcome": None}
        if args.apply and one.fate != "keep":
            failed |= not _apply(fleet, one, row)
        rows.append(row)
    if args.json:
        output.data(rows)
    else:
        for row in rows:
            print(_line(row, applied=args.apply))
        if not args.apply and any(row["next"] != "keep" for row in rows):
            output.say("nothing was changed; `fleet worktree prune --apply` does it")
    return EXIT_NO if failed else EXIT_OK


def _apply(fleet: Fleet, one: Judgement, row: dict[str, Any]) -> bool:
    """Carry one judgement out; whether that worked."""
    from fleet.worktree.removing import Remover  # noqa: PLC0415  # paid only where it is used

    try:
        outcome = Remover(fleet).carry_out(one.path)
    except FleetError as e:
        row["why"] = str(e)
        return False
    if outcome is None:
        row["done"] = True
        return True
    row.update(done=outcome.done, branch_outcome=outcome.branch, why=outcome.judgement.reason)
    row["next"] = str(outcome.judgement.fate)
    return outcome.done or outcome.judgement.fate == "keep"


def _view(one: Judgement) -> dict[str, Any]:
    tree, condition = one.tree, one.condition
    return {
        "path": one.path,
        "repository": tree.repository if tree else None,
        "branch": tree.branch if tree else None,
        "base": tree.base if tree else None,
        "created_branch": tree.created_branch if tree else None,
        "stage": str(tree.stage) if tree else None,
        "agent_id": tree.agent_id if tree else None,
        "holder": one.holder,
        "dirty": condition.dirty if condition else None,
        "unpushed": condition.unpushed if condition else None,
        "merged": condition.merged if condition else None,
        "locked": one.entry.locked if one.entry else None,
        "lost": one.lost,
        "next": str(one.fate),
        "why": one.reason,
    }


def _show(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        output.data(rows)
        return
    if not rows:
        output.say("no worktrees; `fleet dispatch TASK --worktree` makes one")
        return
    home = os.path.expanduser("~") + "/"
    cells = [
        [
            row["branch"] or "-",
            row["holder"] or "-",
            row["dirty"] or ("-" if row["merged"] is None else "clean"),
            "-" if row["unpushed"] is None else str(row["unpushed"]),
            row["merged"] or "-",
            row["next"],
            row["why"],
            "~/" + row["path"].removeprefix(home) if row["path"].startswith(home) else row["path"],
        ]
        for row in rows
    ]
    output.table(HEADINGS, cells, right=frozenset({"UNPUSHED"}), shrink=("PATH", "WHY", "BRANCH"), drop=DROP)


def _line(row: dict[str, Any], *, applied: bool) -> str:
    verb = row["next"]
    if applied and row["next"] != "keep":
        verb = f"{verb}: done" if row["done"] else f"{verb}: failed"
    tail = f"; {row['branch_outcome']}" if row["branch_outcome"] else ""
    return f"{verb}  {row['path']}  {row['why']}{tail}"
