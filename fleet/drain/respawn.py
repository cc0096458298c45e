"""Replacing an agent by the next generation of its dispatch without being asked by it or by the operator.

fleet writes the handoff document and the queue entry itself, so the commit point, what a crash leaves and that a task
never has two engines are those of any handoff. The successor works in the same tree; what was not committed stays
there, and a patch of it is kept.
"""

from __future__ import annotations

from fleet.errors import NotFound, Refused
from fleet.formats import handoff, messages, queue_entry, texts
from fleet.formats.record import Held
from fleet.formats.states import HandoffType, MessageState, Origin
from fleet.formats.times import compact
from fleet.formats.tuples import NamedTuple
from fleet.worktree import rescuing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.model.agent import Agent


#: What the op-id of a message of the watchdog begins with; the number of its action follows.
WATCHDOG_OP = "fleet-watchdog-"


class Ordered(NamedTuple):
    """A respawn on its way."""

    document: str | None  #: None: another handoff of the agent was on its way already
    patch: str | None  #: of what was not committed


def respawn(fleet: Fleet, agent: Agent, why: str, *, at: float, origin: Origin = Origin.RESPAWN) -> Ordered:
    """
    Queue it. Safe to repeat with the same *at*.

    Args:
        why: in words, for the successor and the events.
        at: wall seconds of the decision; names the patch.

    Raises:
        Refused: the agent has ended, or its handoff was given up and waits for the operator.
        FleetError: what it has not committed could not be saved; nothing was queued.
    """
    layout = fleet.layout
    if queue_entry.is_leaving(layout, agent.id):
        return Ordered(None, None)
    if queue_entry.is_queued(layout, agent.id):
        raise Refused(
            f"the handoff of agent {agent.id} was given up", hint=f"`fleet queue retry {agent.id}` tries it again"
        )
    try:
        patch = rescuing.save(fleet, agent, compact(at)).patch
    except NotFound:  # it works in no git working tree: there is nothing that a patch could hold
        patch = None
    with Held(layout, agent.id) as held:
        if held.data is None or held.data["successor_id"] is not None:
            raise Refused(f"agent {agent.id} has ended")
        _take_back(fleet, agent)
        document = handoff.produce(
            layout,
            held.data,
            HandoffType.MANUAL,
            fleet.clock.wall(),
            context_pct=held.data["context_pct"],
            open_questions=texts.respawn_notes(why, held.data["last_handoff_path"], patch),
            further={"origin": origin},
        )
    if document is not None:
        fleet.journal.tell(agent.id, "RespawnOrdered", document=document, patch=patch, why=why, origin=str(origin))
    return Ordered(document, patch)


def _take_back(fleet: Fleet, agent: Agent) -> None:
    """What the watchdog told an agent that never got it is not for its successor. The caller holds the record lock."""
    for message in messages.pending(fleet.layout, agent.id):
        its_own = str(message.data.get("op_id") or "").startswith(WATCHDOG_OP)
        if its_own and message.state in (MessageState.NEW, MessageState.RETURNED):
            wall = fleet.clock.wall()
            messages.archive(fleet.layout, agent.id, message, MessageState.RETURNED, wall, "its agent was replaced")
