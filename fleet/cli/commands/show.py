"""Everything known of one agent, also of an ended one.

examples:
  fleet show fix-login
  fleet show a1b2c3d4 --json
"""

from __future__ import annotations

from fleet.cli import output, views
from fleet.cli.width import printable
from fleet.errors import EXIT_OK, BadFile
from fleet.formats import launch, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.observe.facts import Looker

LAST_EVENTS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agent", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Show."""
    view = view_of(fleet, fleet.agents.find(args.agent, archived=True), fleet.looker())
    if args.json:
        output.data(view)
        return EXIT_OK
    width = max(len(name) for name in view)
    for name, value in view.items():
        if value not in (None, [], ""):
            output.hanging(f"{name.ljust(width)}  ", printable(_text(name, value)))
    return EXIT_OK


def view_of(fleet: Fleet, agent: Agent, look: Looker) -> dict[str, Any]:
    """An agent as `fleet show --json` gives it."""
    sight = look.see(agent)
    view: dict[str, Any] = views.agent_view(sight, look)
    if agent.archived_cause:
        view.update(state="archived", reason=None, state_evidence=agent.archived_cause)
    view.update(
        archived_cause=agent.archived_cause, archived_at=agent.archived_at, origin=agent.origin, host=agent.host,
        command=list(agent.command), transcript_path=_transcript(sight.facts.events, agent),
        last_handoff_path=agent.last_handoff_path, worktree=agent.worktree, permissions=_permissions(fleet, agent),
        messages=[{"message_id": m.id, "state": str(m.state), "characters": len(m.body)}
                  for m in messages.pending(fleet.layout, agent.id)],
        last_events=[{"ts": e.get("ts"), "event": e["event"]} for e in sight.facts.events[:LAST_EVENTS]],
    )  # fmt: skip
    return view


def _text(name: str, value: Any) -> str:
    if name == "command":
        import shlex  # noqa: PLC0415  # paid only where it is used

        return shlex.join(value)
    if name == "worktree":
        return f"{value.get('path')} on {value.get('branch')}, from {value.get('base')}"
    if isinstance(value, list):
        return "; ".join(" ".join(str(part) for part in one.values()) for one in value)
    return output.size(value) if name == "memory_bytes" else str(value)


def _transcript(events: Any, agent: Agent) -> str | None:
    return next((str(e["transcript_path"]) for e in events if e.get("transcript_path")), agent.transcript_path)


def _permissions(fleet: Fleet, agent: Agent) -> str:
    """What the engine may do without asking: a bypass is never silent."""
    try:
        options = launch.read(fleet.layout, agent.id)["options"]
    except (FileNotFoundError, BadFile):
        bypass = any(a.startswith("--dangerously") for a in agent.command)
        return "bypassed" if bypass else "the engine's own"
    if options.get("bypass_permissions"):
        return "bypassed"
    return str(options.get("permission_mode") or "the engine's own")
