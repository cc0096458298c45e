"""What starts and wakes nobody right now: accounts at their limit or logged out, and what you put on hold yourself.

examples:
  fleet hold list
  fleet hold set --for 2h --reason "deploying"      the whole fleet
  fleet hold set --engine codex --until 2026-11-30T18:00:00Z
  fleet hold clear codex-3f9a2b71c0de
  fleet hold clear --all

Turns that run go on, and you may still type into any agent. Dispatches of `--from`, handoffs and messages wait.
"""

from __future__ import annotations

from fleet.cli import output
from fleet.engines.catalog import canonical
from fleet.errors import EXIT_NO, EXIT_OK, UsageError
from fleet.formats.ids import check_slug
from fleet.formats.times import parse, rfc3339
from fleet.model.holds import UNREADABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.holds import Hold

HEADINGS = ("KEY", "ON", "WHY", "SINCE", "UNTIL", "TEXT")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("list", "set", "clear"), nargs="?", default="list")
    parser.add_argument("key", nargs="?", metavar="KEY", help="for clear: which, as `fleet hold list` names it")
    parser.add_argument("--all", action="store_true", help="clear: all of them")
    parser.add_argument("--engine", help="set: only agents of this engine")
    parser.add_argument("--project", help="set: only agents of this project")
    parser.add_argument("--for", dest="lasts", metavar="T", help="set: how long, 30m, 2h, 1d")
    parser.add_argument("--until", metavar="T", help="set: until then, an RFC 3339 time")
    parser.add_argument("--reason", metavar="TEXT", help="set: why, for whoever reads the list")
    parser.add_argument("--json", action="store_true", help="print an array")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """List, set or clear."""
    _check(args)
    from fleet.operate import hold_orders  # noqa: PLC0415  # paid only where it is used

    if args.action == "list":
        return _list(args, fleet)
    fleet.make_home()
    if args.action == "set":
        engine = None if args.engine is None else canonical(args.engine)
        project = None if args.project is None else check_slug("project", args.project)
        until = _until(args, fleet.clock.wall())
        hold, before = hold_orders.set_hold(fleet, engine=engine, project=project, until=until, text=args.reason or "")
        done, aside = [hold], [before] if before is not None else []
    else:
        done = hold_orders.clear(fleet, None if args.all else args.key)
        aside = [hold for hold in done if hold.reason == UNREADABLE]
        if hold_orders.anything_waits(fleet):
            from fleet.drain.carry import start_background  # noqa: PLC0415  # paid only where it is used

            start_background(fleet)
    for one in aside:
        output.say(f"{one.key}: {one.text}")
    if args.json:
        output.data([_view(hold) for hold in done])
    else:
        for hold in done:
            print(f"{hold.key}  {'lifted' if args.action == 'clear' else 'on hold'}")
        if not done:
            output.say("no hold is on")
    return EXIT_OK


def _check(args: argparse.Namespace) -> None:
    """Refuse options of another action."""
    setting = (args.engine, args.project, args.lasts, args.until, args.reason)
    if args.action != "set" and any(one is not None for one in setting):
        raise UsageError("--engine, --project, --for, --until and --reason go with `fleet hold set`")
    if args.action != "clear" and (args.all or args.key is not None):
        raise UsageError("KEY and --all go with `fleet hold clear`")
    if args.action == "clear" and args.all == (args.key is not None):
        raise UsageError("which? fleet hold clear KEY, or --all", hint="`fleet hold list` shows them")
    if args.engine is not None and args.project is not None:
        raise UsageError("--engine and --project exclude each other")
    if args.lasts is not None and args.until is not None:
        raise UsageError("--for and --until exclude each other")


def _until(args: argparse.Namespace, now: float) -> float | None:
    if args.lasts is not None:
        text = args.lasts
        if text[-1:] not in _UNITS or not (text[:-1].isascii() and text[:-1].isdigit()) or len(text) > 8:
            raise UsageError(f"--for {text!r} is no length of time", hint="30m, 2h, 1d")
        return float(now + int(text[:-1]) * _UNITS[text[-1]])
    if args.until is None:
        return None
    moment = parse(args.until)
    if moment is None:
        raise UsageError(f"--until {args.until!r} is no time", hint="2026-11-30T13:00:00Z, or --for 2h")
    return moment


def _list(args: argparse.Namespace, fleet: Fleet) -> int:
    if not fleet.is_inspection:
        from fleet.drain.holding import refresh  # noqa: PLC0415  # paid only where it is used

        refresh(fleet)
    listing, now = fleet.holds.all(), fleet.clock.wall()
    on = [hold for hold in listing.holds if hold.is_on(now)]
    if args.json:
        output.data([_view(hold) for hold in on])
    elif on:
        output.table(HEADINGS, [_row(hold, now) for hold in on], drop=("SINCE", "WHY"))
    else:
        output.say("no hold is on")
    for error in listing.bad:
        output.error(error)
    if listing.bad:
        output.say("what cannot be read holds everything: mend it, or `fleet hold clear KEY` moves it aside")
    return EXIT_NO if listing.bad else EXIT_OK


def _row(hold: Hold, now: float) -> tuple[str, ...]:
    on = hold.engine or hold.project or "the whole fleet"
    end = "-" if hold.until is None else ("about " if hold.estimated else "") + rfc3339(hold.until)
    return (hold.key, on, hold.reason, output.age(now - hold.begun_at), end, hold.text or "-")


def _view(hold: Hold) -> dict[str, Any]:
    return {
        "key": hold.key,
        "scope": str(hold.scope),
        "engine": hold.engine,
        "project": hold.project,
        "reason": hold.reason,
        "text": hold.text,
        "begun_at": rfc3339(hold.begun_at),
        "until": None if hold.until is None else rfc3339(hold.until),
        "estimated": hold.estimated,
        "agent_id": hold.agent_id,
        "lifted_at": None if hold.lifted_at is None else rfc3339(hold.lifted_at),
    }
