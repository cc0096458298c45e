"""Why fleet thinks what it thinks of an agent: the verdict, what each source says, and what would change it.

examples:
  fleet explain fix-login
  fleet explain a1b2c3d4 --json
"""

from __future__ import annotations

from fleet.cli import output, views
from fleet.cli.width import printable
from fleet.errors import EXIT_OK
from fleet.formats.states import Existence
from fleet.formats.times import parse, rfc3339
from fleet.model.opinions import changes, mail_stays, opinions, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.observe.facts import Sight


DETAIL_LINES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agent", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Explain."""
    agent = fleet.agents.find(args.agent)
    look = fleet.looker()
    sight = look.see(agent)
    if sight.facts.pane == Existence.ALIVE:  # a server that did not answer is not asked again
        fleet.look_at_screens([agent])
        sight = look.again().see(agent)
    view = view_of(fleet, sight)
    if args.json:
        output.data(view)
        return EXIT_OK
    known = view["age_seconds"] is not None
    age = f" for {output.age(view['age_seconds'])}" if known else ", nothing tells since when"
    confidence = f" ({view['confidence']})" if view["confidence"] else ""
    rule = f", rule {view['rule']}" if view["rule"] else ""
    engine = " ".join(filter(None, (view["engine"], view["engine_version"])))
    print(f"{view['task_id']} ({view['id']}, {engine}): {view['verdict']}{age}")
    print(f"  because of its {view['source']}{rule}{confidence}: {printable(view['evidence'] or '-')}")
    for line in view["question_detail"]:
        print(f"  | {printable(line)}")
    for number, option in enumerate(view["options"], 1):
        print(f"  | {number}. {printable(option)}")
    print("  what each source says:")
    for one in view["opinions"]:
        evidence = one["evidence"] if one["evidence"] != one["rule"] else None
        told = [
            one["rule"],
            evidence,
            f"{output.age(one['age_seconds'])} ago" if one["age_seconds"] is not None else "",
        ]
        tail = "; ".join(printable(str(part)) for part in told if part)
        print(f"    {one['source']:8} {one['says']}{': ' + tail if tail else ''}")
    if view["mail_stays"]:
        print(f"  a message waits: {view['mail_stays']}")
    print(f"  what would change it: {view['would_change']}")
    return EXIT_OK


def view_of(fleet: Fleet, sight: Sight) -> dict[str, Any]:
    """An agent's verdict with all that it rests on."""
    agent, state, screen = sight.agent, sight.state, sight.facts.screen
    now = fleet.clock.wall()
    dialog = screen is not None and screen.question != "" and screen.reason == state.reason
    assert screen is not None or not dialog
    return {
        "id": agent.id,
        "task_id": agent.task_id,
        "engine": agent.engine,
        "engine_version": fleet.versions.of(agent),
        "verdict": words(state),
        "state": str(state.turn),
        "reason": str(state.reason) if state.reason else None,
        "source": state.source,
        "rule": state.rule or None,
        "evidence": state.evidence,
        "confidence": str(state.confidence) if state.confidence else None,
        "since": state.since,
        "age_seconds": views.seconds_since(state.since, fleet),
        "background": state.background,
        "question_detail": screen.detail.splitlines()[-DETAIL_LINES:] if screen is not None and dialog else [],
        "options": list(screen.options) if screen is not None and dialog else [],
        "opinions": [
            {"source": one.source, "says": one.says, "rule": one.rule or None, "evidence": one.evidence or None,
             "at": one.at or (rfc3339(one.seen_at) if one.seen_at else None),
             "age_seconds": _age(one.at, one.seen_at, now)}
            for one in opinions(sight.facts)
        ],
        "mail_stays": mail_stays(sight.facts, state),
        "would_change": changes(state),
    }  # fmt: skip


def _age(at: str | None, seen_at: float | None, now: float) -> float | None:
    then = parse(at) if at else seen_at
    return None if then is None else max(0.0, round(now - then, 1))
