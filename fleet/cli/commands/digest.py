"""The fleet on one page: how many do what, who waits for whom, what is stuck, what was done about it, what is next.

The shape is always the same, and short: it is made to be read again and again, by people and by an agent that
supervises others. It suggests and never does anything. With --ledger it prints words of closed lists, numbers and ids
alone, at most 256 tasks: nothing that an agent, a repository or a person wrote.

examples:
  fleet digest
  fleet digest --since 2h --json
  fleet digest --ledger

exit codes: 0 all was looked at; 2 something could not be looked at, and the page says what.
"""

from __future__ import annotations

from fleet.cli import output
from fleet.cli.commands.logs import since_of
from fleet.cli.commands.queue import rows_of
from fleet.dispatch import limits
from fleet.drain.watch import TOLD
from fleet.errors import EXIT_OK, EXIT_USAGE, Unreachable
from fleet.formats.states import Existence, Turn
from fleet.formats.times import parse, rfc3339
from fleet.model.watchdog import Action, window_minutes
from fleet.observe.signs import Gatherer
from fleet.operate.digest import Row, compose, ledger
from fleet.store.watch import WatchStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.observe.facts import Looker
    from fleet.observe.signs import Observation
    from fleet.store.holds import Listing

DEFAULT_SINCE = "24h"
MOST_STEPS = 12  #: in the text; --json has them all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--since", metavar="T", default=DEFAULT_SINCE,
                        help="what the watchdog did from then on: 10m, 2h, 3d ago, or an RFC 3339 time "
                        "(default: %(default)s)")  # fmt: skip
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--ledger", action="store_true", help="print JSON of fixed words alone, for an agent to read")
    how.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Gather, compose, print."""
    now = fleet.clock.wall()
    since = since_of(args.since, now) or 0.0
    listing = fleet.agents.living()
    minutes = window_minutes(
        WatchStore(fleet.layout).samples(), fleet.settings.number("watch.stale_minutes"),
        learn=bool(fleet.settings["watch.learn"]),
    )[0]  # fmt: skip
    look = fleet.looker()
    looking = Gatherer(fleet.layout, fleet.environ, look.again, fleet.clock.wall, fleet.clock.sleep)
    seen = looking.gather(listing.agents, stale_seconds=minutes * 60, everybody=listing.agents)
    actions: list[dict[str, Any]] = []
    rows = [_row(fleet, one, since, actions) for one in seen]
    queue, bad = rows_of(fleet)
    free = _free(fleet, look)
    holds = fleet.holds.all()
    unreadable = [error.path for error in (*listing.bad, *bad, *holds.bad)]
    blind = free is None or unreadable or any(one.sight.facts.pane == Existence.UNKNOWN for one in seen)
    if args.ledger:
        output.data(ledger(rows, rfc3339(now)))
        return EXIT_USAGE if blind else EXIT_OK
    page = compose(
        rows, queue, holds=_holds(holds, now), actions=sorted(actions, key=lambda one: str(one["at"]), reverse=True),
        free=free, frame={"at": rfc3339(now), "since": rfc3339(since), "unreadable": unreadable},
    )  # fmt: skip
    if args.json:
        output.data(page)
    else:
        _print(page, now)
    return EXIT_USAGE if blind else EXIT_OK


def _row(fleet: Fleet, one: Observation, since: float, actions: list[dict[str, Any]]) -> Row:
    agent, state = one.sight.agent, one.sight.state
    turns = failures = 0
    action = "none"
    for event in fleet.journal.newest_first(agent.id):
        if (parse(event.get("ts")) or 0.0) < since:
            break
        turns += event["event"] == "Stop"
        failures += event["event"] == "StopFailure"
        if event["event"] == TOLD:
            known = str(event.get("action")) if event.get("action") in set(Action) else "none"
            action = known if action == "none" else action
            actions.append({"at": event.get("ts"), "id": agent.id, "task_id": agent.task_id, "action": known,
                            "why": str(event.get("why") or ""), "result": str(event.get("result") or "")})  # fmt: skip
    facts = one.sight.facts
    return Row(
        agent.id, agent.dispatch_id, agent.task_id, agent.generation, agent.engine, state.turn, state.reason,
        state.evidence, state.since, one.liveness.verdict, one.liveness.why, one.liveness.age_seconds,
        "dead" if facts.dead_letter else "queued" if facts.queued else "none", turns, failures, action,
        facts.is_stray,
    )  # fmt: skip


def _free(fleet: Fleet, look: Looker) -> int | None:
    """How many more agents the host may have; None: could not be counted."""
    try:
        coming = limits.coming(fleet)
        return max(0, limits.places_left(look.snapshot(fleet.socket), fleet.settings, coming))
    except Unreachable:
        return None


def _holds(listing: Listing, now: float) -> list[dict[str, Any]]:
    """What is held back and why."""
    return [
        {"scope": str(hold.scope), "reason": str(hold.reason), "until": hold.until and rfc3339(hold.until)}
        for hold in listing.holds
        if hold.is_on(now)
    ]


def _print(page: dict[str, Any], now: float) -> None:
    counts = [f"{count} {turn}" for turn, count in page["counts"].items() if count]
    free = "?" if page["free_slots"] is None else page["free_slots"]
    print(f"{page['agents']} agents: {', '.join(counts) or 'none'}; {page['queued']} queued, {free} free slots")
    for one in page["waiting"]:
        _line("waiting", one, f"for {one['for']} since {_ago(one['since'], now)}", one["what"])
    _print_unknown(page["unknown"])
    for one in page["stalls"]:
        _line(one["liveness"], one, one["why"])
    for one in page["handoffs"]:
        failed = f"{one['failures']} failed: {one['last_error']}" if one["failures"] else ""
        _line("handoff", one, f"since {_ago(one['enqueued_at'], now)}", failed)
    for one in page["dead_letters"]:
        _line("given up", one, str(one["last_error"] or ""))
    for one in page["holds"]:
        print(f"{'hold':11} {one['scope']}: {one['reason']}, until {one['until'] or 'it is lifted'}")
    for one in page["watchdog"]:
        _line("watchdog", one, f"{one['action']} {_ago(one['at'], now)} ago", one["result"])
    for one in page["next"][:MOST_STEPS]:
        print(f"{'next':11} {one['next']}: {one['command']}  ({one['task_id']})")
    if len(page["next"]) > MOST_STEPS:
        print(f"{'next':11} and {len(page['next']) - MOST_STEPS} more: --json")
    if page["scaling"]:
        print(f"{'scaling':11} {page['scaling']}")
    for path in page["unreadable"]:
        output.say(f"fleet: cannot be read: {path}")
    if page["counts"][str(Turn.UNKNOWN)]:
        output.say("hint: `fleet explain AGENT` tells why an agent is unknown")


def _print_unknown(unknown: list[dict[str, Any]]) -> None:
    """Those for the same reason in one line: a server that does not answer has many agents."""
    alike: dict[str, list[dict[str, Any]]] = {}
    for one in unknown:
        alike.setdefault(one["why"], []).append(one)
    for why, found in alike.items():
        if len(found) == 1:
            _line("unknown", found[0], why)
        else:
            output.hanging(f"{'unknown':11} {len(found)} agents  ", " ".join(why.split()))


def _line(head: str, one: dict[str, Any], *words: str) -> None:
    text = "; ".join(" ".join(word.split()) for word in words if word)
    output.hanging(f"{head:11} {one['task_id']} ({one['id']})  ", text)


def _ago(ts: str | None, now: float) -> str:
    then = parse(ts)
    return "?" if then is None else output.age(max(0.0, now - then))
