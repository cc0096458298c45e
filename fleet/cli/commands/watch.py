"""The watchdog: find what stalls, spins or died, and do what `watch.mode` allows about it.

A stalled agent is sent a message, twice; then it is replaced by the next generation of its dispatch, from its handoff
document or its prompt; after two more messages the operator is told. After each step a whole window passes. `fleet
drain` does the same by itself; what one of them did, the other knows. With watch.mode observe, the default, and with
--dry-run it only says what would be done.

Where no drain that stays looks at the screens, this command does. With --once it does not: what only a screen would
tell is unmeasured then, and nothing is done about it.

examples:
  fleet watch                    until no agent is left
  fleet watch --once --json      one look, one JSON object a line
  fleet config set watch.mode act
"""

from __future__ import annotations

import contextlib

from fleet.cli import output
from fleet.clock import wait_until
from fleet.drain.carry import start_background
from fleet.drain.scanning import Scanning
from fleet.drain.watch import RealHands, is_on, terms
from fleet.drain.watchdog import Watchdog
from fleet.errors import EXIT_NO, EXIT_OK, FleetError, TimedOut
from fleet.formats.times import rfc3339
from fleet.log import open_log
from fleet.model.seen import FRESH_SECONDS
from fleet.store import screens
from fleet.store.watch import WatchStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet

MOST_ERRORS = 3  #: failed ticks in a row
FIRST_LOOK_SECONDS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    once = "one look, then return; exit 1 when it failed or a record could not be read"
    parser.add_argument("--once", action="store_true", help=once)
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done, and remember nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Watch."""
    if not is_on(fleet):
        name = "watch.mode" if fleet.settings["watch.enabled"] else "watch.enabled"
        output.say(f"watchdog disabled by {name}")
        return EXIT_OK
    if not args.dry_run:
        fleet.make_home()
    if args.once:
        return _watch(args, fleet)
    scanning = Scanning(fleet, open_log(fleet.layout, "watch"), lambda: None)
    try:
        return _watch(args, fleet, scanning)
    finally:
        scanning.stop()


def _scan(fleet: Fleet, scanning: Scanning) -> None:
    """Have the screens looked at, by this process where no drain does: what streams shows there alone."""

    def is_scanned() -> bool:
        newest = max((s.looked_at for s in screens.read(fleet.layout).values()), default=0.0)
        return fleet.clock.wall() - newest <= FRESH_SECONDS

    if fleet.agents.ids() and not is_scanned():
        scanning.start()
        with contextlib.suppress(TimedOut):
            wait_until(is_scanned, FIRST_LOOK_SECONDS, clock=fleet.clock, what="the first look at the screens")


def _watch(args: argparse.Namespace, fleet: Fleet, scanning: Scanning | None = None) -> int:
    hands = RealHands(fleet)
    dog = Watchdog(WatchStore(fleet.layout), hands, fleet.clock)
    _say(args, dog.start(terms(fleet, dry_run=args.dry_run)))
    errors, told = 0, set[str]()
    while True:
        if scanning is not None:
            _scan(fleet, scanning)
        try:
            events = dog.tick(terms(fleet, dry_run=args.dry_run))
            errors = 0
        except FleetError as e:
            events = [{"event": "watch-error", "at": rfc3339(fleet.clock.wall()), "message": str(e)}]
            errors += 1
        for bad in hands.bad:
            if bad.path not in told:
                output.error(bad)
        told = {bad.path for bad in hands.bad}
        for event in events:
            _say(args, event)
        if any(event.get("done") for event in events):
            start_background(fleet)  # somebody must carry out what was put down
        if args.once:
            return EXIT_NO if errors or hands.bad else EXIT_OK
        if errors >= MOST_ERRORS:
            _say(args, {"event": "exit", "reason": "errors"})
            return EXIT_NO
        if not errors and dog.dispatches == 0:
            _say(args, {"event": "exit", "reason": "phase-idle"})
            return EXIT_OK
        fleet.clock.sleep(fleet.settings.number("watch.interval_minutes") * 60)
        fleet.reload()


def _say(args: argparse.Namespace, event: dict[str, Any]) -> None:
    if args.json:
        output.line(event)
        return
    name = event["event"] if event.get("done", True) else f"would {event['event']}"
    words = [event.get("at", ""), name, event.get("task", "")]
    if event["event"] == "start":
        words.append(f"stale after {event['staleMinutes']}m ({_learned(event)}), {event['mode']}")
    if "attempt" in event:
        words.append(f"attempt {event['attempt']}: {event['why']}; {event['result']}")
    words += [str(event[name]) for name in ("reason", "message") if name in event and "attempt" not in event]
    print("  ".join(word for word in words if word), flush=True)


def _learned(event: dict[str, Any]) -> str:
    return f"learned from {event['samples']}" if event["learned"] else "configured"
