"""Replace an agent by a successor with a fresh context, now: document, successor held, the old one ended, go on.

The successor reads the handoff document and continues. A running turn is given time to end first.

examples:
  fleet handoff fix-login
"""

from __future__ import annotations

import os

from fleet.cli import output, views
from fleet.drain.attempts import Attempts
from fleet.drain.carry import carry_out, start_background
from fleet.errors import EXIT_OK, Refused, TimedOut, UsageError
from fleet.model.holds import described
from fleet.operate.handing import order

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agent", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("--no-wait", action="store_true", help="order it and return")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="wait that long (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the successor as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Order the handoff, then see it carried out."""
    if args.timeout < 0:
        raise UsageError("--timeout cannot be negative")
    agent = fleet.agents.find(args.agent)
    document = order(fleet, agent)
    entry, dead = fleet.layout.entry(agent.id), fleet.layout.dead_entry(agent.id)
    if args.no_wait:
        start_background(fleet)
        print(f"{agent.id}  {agent.task_id}  handoff queued  {document}")
        return EXIT_OK
    hold = fleet.looker().see(agent).hold
    if hold is not None:
        start_background(fleet)
        raise TimedOut(
            f"the handoff of {agent.id} is queued and waits: {described(hold)}",
            hint=f"`fleet hold clear {hold.key}` lifts it; until then its agent stays as it is",
        )
    carry_out(fleet, lambda: not os.path.exists(entry), args.timeout, f"the handoff of {agent.id}")
    if os.path.exists(dead):
        why = Attempts(fleet.layout, agent.id, fleet.clock).last_error
        raise Refused(f"the handoff of {agent.id} was given up: {why}", hint=f"`fleet queue retry {agent.id}`")
    successor = fleet.agents.successor(fleet.agents.archived(agent.id) or agent)
    if successor.id == agent.id:
        raise Refused(f"agent {agent.id} was ended before its handoff was carried out")
    look = fleet.looker()
    view = views.agent_view(look.see(successor), look)
    if args.json:
        output.data({**view, "handoff_document": document})
    else:
        print(f"{agent.id} -> {successor.id}  {successor.task_id}  {views.state_text(view)}")
        output.say(f"document: {document}")
    return EXIT_OK
