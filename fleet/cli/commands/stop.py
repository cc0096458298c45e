"""End an agent: politely, then firmly. Its record and last screen are kept, its task is free again."""

from __future__ import annotations

import os

from fleet.cli import output
from fleet.drain import stops
from fleet.drain.carry import carry_out
from fleet.errors import EXIT_OK, BadFile, UsageError
from fleet.formats import queue_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet
    from fleet.model.agent import Agent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("--grace", type=float, metavar="S", help="seconds between the polite and the firm end")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="give up waiting (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print what was ended as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Order the ends, then see them carried out."""
    grace = fleet.settings.number("handoff.grace_seconds") if args.grace is None else args.grace
    if grace < 0 or args.timeout < 0:
        raise UsageError("--grace and --timeout cannot be negative")
    agents = [_first(fleet, fleet.agents.find(token)) for token in args.agents]
    for agent in agents:
        stops.order(fleet.layout, agent.id, fleet.clock.wall(), grace)
    carry_out(
        fleet,
        lambda: not any(os.path.exists(fleet.layout.stop_order(agent.id)) for agent in agents),
        args.timeout,
        "the end of " + ", ".join(agent.id for agent in agents),
    )
    if args.json:
        output.data([{"id": a.id, "task_id": a.task_id, "dispatch_id": a.dispatch_id} for a in agents])
    else:
        for agent in agents:
            print(f"{agent.id}  {agent.task_id}  stopped")
    return EXIT_OK


def _first(fleet: Fleet, agent: Agent) -> Agent:
    """The predecessor when *agent* is a successor on its way: the order ends both."""
    if agent.predecessor_id is not None:
        for path in (fleet.layout.entry(agent.predecessor_id), fleet.layout.dead_entry(agent.predecessor_id)):
            try:
                if queue_entry.read(path)["new_agent_id"] == agent.id:
                    return fleet.agents.get(agent.predecessor_id) or agent
            except (FileNotFoundError, BadFile):
                continue
    return agent
