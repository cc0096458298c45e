"""Bring back the agents that went with a reboot, a killed tmux server or a closed laptop.

Each comes back as the next generation of its task, in the same folder and environment, by its engine's own resume;
where that cannot work, from its last handoff document or its prompt. The highest priority first, then the oldest, and
at most limits.recover_at_once at a time; the old record is archived when the new engine stands at its prompt in the
conversation. An agent that was in the middle of a turn is told to look and go on. Stopped and archived agents stay so,
and so does one that had ended by itself. What could not be looked at is left alone, and so is one whose folder is not
there, until the next run, and one whose engine outlived its pane.

examples:
  fleet recover --dry-run        who would come back, how and why
  fleet recover
  fleet recover fix-login
  fleet drain --recover-on-start

exit codes: 0 everybody who went is back; 1 somebody is not, waits for you with a handoff that was given up, or could
not be looked at; 6 not within --timeout.
"""

from __future__ import annotations

from fleet.cli import output
from fleet.drain.carry import carry_out
from fleet.drain.recovering import Recovery
from fleet.errors import EXIT_NO, EXIT_OK, TimedOut, UsageError
from fleet.model.outage import BACK, Fate

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.drain.recovering import Row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="only these: ids, prefixes of ids, or task names")
    parser.add_argument("--dry-run", action="store_true", help="only say who would be brought back, and why")
    parser.add_argument(
        "--timeout", type=float, default=300, metavar="S", help="give up waiting (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print what became of each as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Judge, order, wait."""
    if args.timeout < 0:
        raise UsageError("--timeout cannot be negative")
    only = {fleet.agents.find(token).id for token in args.agents} if args.agents else None
    recovery = Recovery(fleet, only)
    if args.dry_run:
        recovery.look()
        return _report(args, recovery, None)
    fleet.make_home()
    late: TimedOut | None = None
    try:
        carry_out(fleet, recovery.advance, args.timeout, "the recovery")
    except TimedOut as e:
        late = e
    code = _report(args, recovery, late)
    if late is not None:
        raise late
    return code


def _report(args: argparse.Namespace, recovery: Recovery, late: TimedOut | None) -> int:
    rows = [row for row in recovery.rows if args.agents or args.json or row.fate != Fate.RUNS]
    if args.json:
        output.data([_view(row, dry_run=args.dry_run) for row in rows])
    elif rows:
        table = [
            [row.agent.task_id, row.agent.id, str(row.fate), row.successor or "-", _words(row, dry_run=args.dry_run)]
            for row in rows
        ]
        output.table(["TASK", "AGENT", "HOW", "NEW", "WHAT"], table, shrink=("TASK", "WHAT"))
    elif late is None and not recovery.unreadable:
        output.say("fleet: nothing to bring back")
    for row in rows:
        if row.given_up:
            retry, drop = (f"`fleet queue {what} {row.agent.id}`" for what in ("retry", "drop"))
            output.say(f"hint: {retry} tries its handoff again, {drop} gives it up for good")
    for error in recovery.unreadable:
        output.error(error)
    bad = recovery.unreadable or any(_is_bad(row, named=bool(args.agents), dry_run=args.dry_run) for row in rows)
    return EXIT_NO if bad else EXIT_OK


def _is_bad(row: Row, *, named: bool, dry_run: bool) -> bool:
    if row.fate in (Fate.UNKNOWN, Fate.NO_FOLDER, Fate.NO_PANE) or row.late or row.given_up or row.error is not None:
        return True
    if row.fate in BACK:
        return not dry_run and not row.done
    return named and row.fate != Fate.FOLLOW


def _words(row: Row, *, dry_run: bool) -> str:
    if row.error is not None:
        return f"not brought back: {row.error}"
    if row.late:
        return f"not at its prompt yet: fleet attach {row.successor}"
    if row.done:
        return f"back: {row.why}" if row.fate in BACK else row.why
    if row.fate in BACK:
        return f"would come back: {row.why}" if dry_run else f"not back yet: {row.why}"
    return row.why


def _view(row: Row, *, dry_run: bool) -> dict[str, Any]:
    return {
        "id": row.agent.id, "task_id": row.agent.task_id, "project": row.agent.project,
        "dispatch_id": row.agent.dispatch_id, "engine": row.agent.engine, "how": str(row.fate), "why": row.why,
        "interrupted": row.interrupted if row.fate in BACK else False, "dry_run": dry_run,
        "recovered": row.done, "successor_id": row.successor, "error": row.error,
    }  # fmt: skip
