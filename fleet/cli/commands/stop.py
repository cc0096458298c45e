"""End an agent: politely, then firmly. Its record and last screen are kept, its task is free again.

examples:
  fleet stop fix-login
  fleet stop a1b2c3d4 b2c3d4e5 --grace 20
"""

from __future__ import annotations

import os

from fleet.cli import output
from fleet.drain import stops
from fleet.drain.carry import carry_out
from fleet.errors import EXIT_NO, EXIT_OK, BadFile, Refused, UsageError
from fleet.formats import queue_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("--grace", type=float, metavar="S", help="seconds between the polite and the firm end")
    parser.add_argument("--remove-worktree", action="store_true",
                        help="remove its git worktree too, if it is clean and pushed or merged")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="give up waiting (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print what was ended as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Order the ends, then see them carried out."""
    grace = fleet.settings.number("handoff.grace_seconds") if args.grace is None else args.grace
    if grace < 0 or args.timeout < 0:
        raise UsageError("--grace and --timeout cannot be negative")
    agents = [first_of(fleet, fleet.agents.find(token)) for token in args.agents]
    if args.remove_worktree:
        for agent in agents:
            if not (agent.worktree or {}).get("path"):
                from fleet.worktree.removing import way_out  # noqa: PLC0415  # paid only where it is used

                raise Refused(
                    f"agent {agent.id} has no git worktree of its own; nothing was stopped", hint=way_out(fleet, agent)
                )
    for agent in agents:
        stops.order(fleet.layout, agent.id, fleet.clock.wall(), grace)
    carry_out(
        fleet,
        lambda: not any(os.path.exists(fleet.layout.stop_order(agent.id)) for agent in agents),
        args.timeout,
        "the end of " + ", ".join(agent.id for agent in agents),
    )
    removed = [_remove(fleet, agent) for agent in agents] if args.remove_worktree else [{} for _ in agents]
    if args.json:
        shown = zip(agents, removed, strict=True)
        output.data([{"id": a.id, "task_id": a.task_id, "dispatch_id": a.dispatch_id, **r} for a, r in shown])
    else:
        for agent, result in zip(agents, removed, strict=True):
            words = "  worktree removed" if result.get("worktree_removed") else ""
            print(f"{agent.id}  {agent.task_id}  stopped{words}")
    return EXIT_OK if all(result.get("worktree_removed", True) for result in removed) else EXIT_NO


def _remove(fleet: Fleet, agent: Agent) -> dict[str, Any]:
    """Remove the stopped agent's worktree, or say why it stays."""
    from fleet.worktree.removing import remove_one  # noqa: PLC0415  # paid only where it is used

    path = str((agent.worktree or {})["path"])
    done, words, hint = remove_one(fleet, path)
    output.say(f"fleet: worktree {path} {'removed' if done else 'stays'}: {words}")
    if not done:
        output.say(f"hint: {hint}")
    return {"worktree": path, "worktree_removed": done, "worktree_reason": words}


def first_of(fleet: Fleet, agent: Agent) -> Agent:
    """The predecessor when *agent* is a successor on its way: the order ends both."""
    if agent.predecessor_id is not None:
        for path in (fleet.layout.entry(agent.predecessor_id), fleet.layout.dead_entry(agent.predecessor_id)):
            try:
                if queue_entry.read(path)["new_agent_id"] == agent.id:
                    return fleet.agents.get(agent.predecessor_id) or agent
            except (FileNotFoundError, BadFile):
                continue
    return agent
