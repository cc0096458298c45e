"""Look for what is wrong: each problem, why it matters and the command that mends it. Changes nothing without --fix.

With --fix it first shows what fleet can mend itself, asks, does it, and looks again; the rest stays yours. --hooks adds
what the hooks of each agent have really reported, per event; --git what each repository, worktree and branch holds.

Exit code: 0 nothing is wrong, 1 something is, 2 something could not be looked at.

examples:
  fleet doctor
  fleet doctor --fix
  fleet doctor --hooks --git
  fleet doctor --json
"""

from __future__ import annotations

import sys

from fleet.cli import output
from fleet.doctor import agents, checkouts, host, own_settings, programs, receipts, terminal, work
from fleet.doctor.findings import Finding, Grade
from fleet.errors import EXIT_NO, EXIT_OK, EXIT_USAGE, FleetError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet

CHECKS = (
    host.tmux, terminal.socket_folder, terminal.locale, terminal.keys, host.home, host.room, terminal.clock,
    programs.engines, own_settings.user_hooks, work.queue, work.holds, agents.records, agents.hooks, agents.processes,
)  # fmt: skip
SIGNS = {Grade.OK: "ok", Grade.NOTE: "note", Grade.UNKNOWN: "??", Grade.PROBLEM: "!!"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--fix", action="store_true", help="show what fleet can mend itself, ask, and do it")
    parser.add_argument("--yes", action="store_true", help="with --fix: do not ask")
    parser.add_argument("--hooks", action="store_true", help="also what each agent's hooks have really reported")
    parser.add_argument("--git", action="store_true", help="also what each repository, worktree and branch holds")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Run every check; one that fails takes no other down."""
    found = _look(args, fleet)
    if args.fix and (mends := [one for one in found if one.mend is not None]):
        _plan(mends)
        if not args.yes and not _agreed():
            raise Refused("nothing was mended", hint="`fleet doctor --fix --yes` does not ask")
        for one in mends:
            assert one.mend is not None
            try:
                one.mend.do()
                output.say(f"done: {one.mend.words}")
            except (FleetError, OSError) as e:
                output.say(f"fleet: not mended: {one.mend.words}: {e}")
        found = _look(args, fleet)
    elif args.fix:
        output.say("there is nothing that fleet can mend itself")
    return _report(args, found)


def _look(args: argparse.Namespace, fleet: Fleet) -> list[Finding]:
    look, found = fleet.looker(), list[Finding]()
    further = [*([receipts.receipts] if args.hooks else []), *([checkouts.checkouts] if args.git else [])]
    for check in (*CHECKS, *further):
        try:
            found += check(fleet, look)
        except (FleetError, OSError) as e:
            found.append(Finding(check.__name__, Grade.UNKNOWN, f"could not be looked at: {e}"))
    return found


def _plan(mends: list[Finding]) -> None:
    output.say("fleet can mend:")
    for one in mends:
        assert one.mend is not None
        output.say(f"  {one.mend.words}  ({one.check}: {one.what})")


def _agreed() -> bool:
    """Whether somebody at a terminal says yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write("Do this? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _report(args: argparse.Namespace, found: list[Finding]) -> int:
    if args.json:
        output.data([one.as_data() for one in found])
    else:
        for one in found:
            output.hanging(f"{SIGNS[one.grade]:4}  {one.check:10}  ", one.what)
            if one.grade == Grade.PROBLEM:
                output.hanging(f"{'':18}why: ", str(one.why))
                print(f"{'':18}do:  {one.cure}")  # not broken: it is to be copied
    grades = {one.grade for one in found}
    problems = sum(one.grade == Grade.PROBLEM for one in found)
    output.say(f"{problems} problem{'s' if problems != 1 else ''}" if problems else "nothing is wrong")
    return EXIT_NO if Grade.PROBLEM in grades else EXIT_USAGE if Grade.UNKNOWN in grades else EXIT_OK
