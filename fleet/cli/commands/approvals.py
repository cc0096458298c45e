"""Every question that an agent's dialog asks you, with its exact text and options, in one list.

examples:
  fleet approvals
  fleet approvals --project shop --json

`fleet approve AGENT` and `fleet deny AGENT` answer them; with `--dialog` and its name only this very one. Of a question
with a choice of answers you name one: `fleet approve AGENT ANSWER`.
"""

from __future__ import annotations

from fleet.cli import output, views
from fleet.cli.width import printable
from fleet.errors import EXIT_ENVIRONMENT, EXIT_NO, EXIT_OK, Unreachable
from fleet.formats.states import Reason, Turn
from fleet.model.seen import is_younger

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.observe.facts import Sight

ASKING = frozenset({Reason.PERMISSION, Reason.TRUST, Reason.QUESTION})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--project", help="only this project's")
    parser.add_argument("--json", action="store_true", help="print an array")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """List."""
    listing = fleet.agents.living()
    agents = [a for a in listing.agents if args.project in (None, a.project)]
    errors = fleet.look_at_screens(agents)
    look = fleet.looker()
    sights = [sight for agent in agents if _asks(sight := look.see(agent))]
    shown = [_view(fleet, sight) for sight in sorted(sights, key=lambda s: s.state.since or "")]
    if args.json:
        output.data(shown)
    else:
        for one in shown:
            _print(one)
        if not shown and not errors:
            output.say("nobody asks anything")
    for error in listing.bad:
        output.error(error)
    for why in errors:
        output.error(Unreachable(f"what the agents there ask is not known: {why}"))
    return EXIT_ENVIRONMENT if errors else EXIT_NO if listing.bad else EXIT_OK


def _asks(sight: Sight) -> bool:
    """Whether it waits for an answer, and its screen, looked at later, does not show that it has got one."""
    state, screen = sight.state, sight.facts.screen
    if state.turn != Turn.WAITING or state.reason not in ASKING:
        return False
    return screen is None or screen.turn in (None, str(Turn.WAITING)) or not is_younger(state, screen)


def _view(fleet: Fleet, sight: Sight) -> dict[str, Any]:
    from fleet.engines.answers import Dialog, Verdict, answers_of, fingerprint, is_pending, name_of  # noqa: PLC0415  # paid only where one asks

    agent, state, screen = sight.agent, sight.state, sight.facts.screen
    shows = screen is not None and bool(screen.options) and screen.reason in {str(one) for one in ASKING}
    labels = screen.options if screen is not None and shows else ()
    rule = (screen.rule or "").partition("/")[2] if screen is not None and shows else ""
    question, text = (screen.question, screen.detail) if screen is not None and shows else (state.evidence, "")
    shown = Dialog(fingerprint(question, text, labels), rule, question, text, labels)
    answers = answers_of(fleet.settings.screen(agent.engine)).get(rule)
    events = list(fleet.journal.newest_first(agent.id, None))
    can = answers is not None and not answers.pane and answers.can_read(shown) and not is_pending(shown.print, events)
    yes, no = (answers.default(v, labels) if answers is not None and can else None for v in Verdict)
    return {
        "id": agent.id,
        "project": agent.project,
        "task_id": agent.task_id,
        "engine": agent.engine,
        "reason": str(state.reason),
        "since": state.since,
        "age_seconds": views.seconds_since(state.since, fleet),
        "dialog": name_of(agent.id, shown.print, events) if shows else None,
        "question": question,
        "text": text,
        "options": list(labels),
        "answerable": can,
        "choice": can and answers is not None and answers.choice,
        "approve": yes,
        "deny": no,
    }


def _print(view: dict[str, Any]) -> None:
    dialog = f"  dialog {view['dialog']}" if view["dialog"] else ""
    head = f"{view['task_id']} ({view['id']}, {view['engine']}): {view['reason']}"
    print(f"{head} for {output.age(view['age_seconds'])}{dialog}")
    for line in (view["text"] or view["question"]).splitlines():
        print(f"  | {printable(line)}".rstrip())
    words = {view["approve"]: "   <- approve", view["deny"]: "   <- deny"}
    for label in view["options"]:
        print(f"  > {printable(label)}{words.get(label, '')}")
    if not view["options"]:
        print("  its screen could not be read")
    if view["choice"]:
        print(f"  name the answer: fleet approve {view['id']} ANSWER")
    if not view["answerable"]:
        print(f"  answer it in its pane, where all of it is shown: fleet attach {view['id']}")
    print()
