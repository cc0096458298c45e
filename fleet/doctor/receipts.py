"""What hooks have really reported, per agent and event: an entry in a settings file is no proof that it fires."""

from __future__ import annotations

from fleet.doctor.findings import Finding, Grade, problem
from fleet.formats.events import EVENTS
from fleet.formats.times import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.app import Fleet
    from fleet.observe.facts import Looker

#: Without these nothing of an agent is known; the others fire only when what they are for happens.
VITAL = ("UserPromptSubmit", "Stop")


def receipts(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    """For each agent with hooks: when each event they are configured for was last reported, and which never was."""
    now = fleet.clock.wall()
    for agent in fleet.agents.living().agents:
        sight = look.see(agent)
        name = f"{agent.id} ({agent.task_id})"
        if not sight.facts.reports:
            yield Finding("receipts", Grade.NOTE, f"{name}: its engine does not report")
            continue
        last: dict[str, float] = {}
        for event in fleet.journal.newest_first(agent.id, limit_bytes=None):
            if event.get("source") == "hook" and (at := parse(event.get("ts"))) is not None:
                last.setdefault(str(event["event"]), at)
        configured = EVENTS.get(agent.engine, ())
        fired = ", ".join(f"{event} {max(0.0, now - last[event]):.0f} s ago" for event in configured if event in last)
        never = [event for event in configured if event not in last]
        if any(event in last for event in configured if event not in VITAL) and "Stop" in last and VITAL[0] not in last:
            yield problem(
                "receipts",
                f"{name}: {fired}; never: {', '.join(never)}",
                "turns ended whose prompts were not reported: a hook of it is lost",
                f"fleet logs --agent {agent.id}, then fleet handoff {agent.id}",
            )
        elif not last:
            yield Finding("receipts", Grade.UNKNOWN, f"{name}: configured, and nothing has fired yet")
        else:
            tail = f"; configured and not fired yet: {', '.join(never)}" if never else ""
            yield Finding("receipts", Grade.OK, f"{name}: {fired}{tail}")
