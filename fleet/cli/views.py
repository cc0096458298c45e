"""The JSON shapes of agents and their text forms. `config/schemas` describes them."""

from __future__ import annotations

from fleet.formats.times import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.observe.facts import Looker, Sight


def agent_view(sight: Sight, look: Looker) -> dict[str, Any]:
    """An agent as `fleet list --json` gives it."""
    agent, state = sight.agent, sight.state
    memory, cpu = usage(agent, look)
    return {
        "id": agent.id,
        "dispatch_id": agent.dispatch_id,
        "generation": agent.generation,
        "project": agent.project,
        "task_id": agent.task_id,
        "engine": agent.engine,
        "mode": agent.mode,
        "role": agent.role,
        **state_view(sight),
        "state_source": state.source,
        "state_evidence": state.evidence,
        "state_since": state.since,
        "state_rule": state.rule or None,
        "state_confidence": str(state.confidence) if state.confidence else None,
        "context_pct": agent.context_pct,
        "context_source": agent.context_source,
        "pid": agent.pid,
        "tmux_session": agent.tmux_session,
        "pane_id": agent.pane_id,
        "socket": agent.socket,
        "cwd": agent.cwd,
        "handoff_number": agent.handoff_number,
        "handoff_type": agent.handoff_type,
        "predecessor_id": agent.predecessor_id,
        "successor_id": agent.successor_id,
        "conversation_id": conversation(sight),
        "last_activity_ts": agent.last_activity_ts,
        "spawned_at": agent.spawned_at,
        "memory_bytes": memory,
        "cpu_seconds": cpu,
    }


def state_view(sight: Sight) -> dict[str, Any]:
    """The part of `agent_view` that `state_text` shows; nothing is read for it."""
    state = sight.state
    return {
        "state": str(state.turn),
        "reason": str(state.reason) if state.reason else None,
        "background": state.background,
        "exit_status": state.exit_status,
        "exit_signal": state.exit_signal,
        "inbox_pending": sight.agent.inbox_pending,
    }


def conversation(sight: Sight) -> str | None:
    """The engine's own id of the conversation: the one it last reported, else the one fleet gave it."""
    for event in sight.facts.events:
        if event.get("source") == "hook" and event.get("session_id"):
            return str(event["session_id"])
    return sight.agent.conversation_id


def usage(agent: Agent, look: Looker) -> tuple[int | None, float | None]:
    """Memory in bytes and CPU time in seconds of the agent's process tree; None where it is not there."""
    if agent.pid is None:
        return None, None
    table = look.table()
    leaders = [p.pid for p in table.session(agent.pid, agent.pid_start)]
    if not leaders:
        return None, None
    tree = table.tree(leaders)
    return sum(p.memory_bytes for p in tree), round(sum(p.cpu_seconds for p in tree), 2)


def seconds_since(stamp: str | None, fleet: Fleet) -> float | None:
    """How long ago a timestamp was."""
    then = parse(stamp)
    return None if then is None else max(0.0, fleet.clock.wall() - then)


def state_text(view: dict[str, Any]) -> str:
    """`waiting (permission)`, of what `state_view` or `agent_view` gives."""
    text = str(view["state"])
    if view["reason"]:
        text += f" ({view['reason']})"
    elif view["exit_signal"] is not None:
        text += f" (signal {view['exit_signal']})"
    elif view["exit_status"] is not None:
        text += f" ({view['exit_status']})"
    if view["background"]:
        text += f" +{view['background']}"
    if view["inbox_pending"]:
        text += " [mail]"
    return text
