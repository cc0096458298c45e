"""All agents of this host and what they are doing."""

from __future__ import annotations

from fleet.cli import output, views
from fleet.errors import EXIT_NO, EXIT_OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet

HEADINGS = ("ID", "PROJECT", "TASK", "ENGINE", "STATE", "CTX", "AGE", "IDLE", "HANDOFFS", "MEM", "CPU")
RIGHT = frozenset({"CTX", "AGE", "IDLE", "HANDOFFS", "MEM", "CPU"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--project", help="only this project's")
    parser.add_argument("--json", action="store_true", help="print an array")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """List."""
    listing = fleet.agents.living()
    look = fleet.looker()
    chosen = [a for a in listing.agents if args.project in (None, a.project)]
    shown = [views.agent_view(look.see(agent), look) for agent in chosen]
    if args.json:
        output.data(shown)
    elif shown:
        output.table(HEADINGS, [_row(view, fleet) for view in shown], right=RIGHT)
    else:
        output.say("no agents; start one with: fleet dispatch TASK --prompt TEXT")
    for error in listing.bad:
        output.error(error)
    return EXIT_NO if listing.bad else EXIT_OK


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
