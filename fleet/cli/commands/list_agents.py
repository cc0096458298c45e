"""All agents of this host and what they are doing.

examples:
  fleet list
  fleet list --project shop --json
"""

from __future__ import annotations

from fleet.cli import colour, output, views
from fleet.errors import EXIT_NO, EXIT_OK
from fleet.model.holds import described

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet

HEADINGS = ("ID", "PROJECT", "TASK", "ENGINE", "STATE", "CTX", "AGE", "IDLE", "HANDOFFS", "MEM", "CPU")
RIGHT = frozenset({"CTX", "AGE", "IDLE", "HANDOFFS", "MEM", "CPU"})
#: What a narrow terminal gets less of, and what it does without; `--json` always has everything.
SHRINK = ("TASK", "PROJECT", "STATE")
DROP = ("CPU", "MEM", "HANDOFFS", "AGE", "PROJECT", "ENGINE", "IDLE", "CTX")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--project", help="only this project's")
    parser.add_argument("--json", action="store_true", help="print an array")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """List."""
    return show(fleet, args.project, as_json=args.json)


def show(fleet: Fleet, project: str | None, *, as_json: bool = False) -> int:
    """Print the agents of a project, or all."""
    listing = fleet.agents.living()
    look = fleet.looker()
    chosen = [a for a in listing.agents if project in (None, a.project)]
    sights = [look.see(agent) for agent in chosen]
    shown = [views.agent_view(sight, look) for sight in sights]
    if as_json:
        output.data(shown)
    elif shown:
        rows = [_row(view, fleet) for view in shown]
        output.table(HEADINGS, rows, right=RIGHT, shrink=SHRINK, drop=DROP, paint=_paint)
    else:
        output.say("no agents; start one with: fleet dispatch TASK --prompt TEXT")
    holds, now = fleet.holds.all(), fleet.clock.wall()
    for hold in holds.holds:
        if hold.is_on(now) and not as_json:
            output.say(f"hold: {described(hold)}")
    for why in sorted({s.facts.blindness for s in sights if s.facts.pane_error}):
        output.say(f"fleet: {why}")
    bad = (*listing.bad, *holds.bad)
    for error in bad if as_json else listing.bad:
        output.error(error)
    return EXIT_NO if bad else EXIT_OK


def _paint(heading: str, cell: str) -> str | None:
    return colour.of_state(cell) if heading == "STATE" else None


def _row(view: dict[str, object], fleet: Fleet) -> tuple[str, ...]:
    context = view["context_pct"]
    cpu = view["cpu_seconds"]
    memory = view["memory_bytes"]
    return (
        str(view["id"]),
        str(view["project"]),
        str(view["task_id"]),
        str(view["engine"]),
        views.state_text(view),
        f"{context:.0f}%" if isinstance(context, (int, float)) else "-",
        output.age(views.seconds_since(str(view["spawned_at"]), fleet)),
        output.age(views.seconds_since(str(view["last_activity_ts"]), fleet)),
        str(int(str(view["handoff_number"])) - 1),
        output.size(memory if isinstance(memory, int) else None),
        f"{cpu:.0f}s" if isinstance(cpu, (int, float)) else "-",
    )
