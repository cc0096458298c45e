"""Ordering a handoff by hand: document and queue entry, as a hook would write them, then the drain."""

from __future__ import annotations

import os

from fleet.errors import Refused
from fleet.formats import handoff
from fleet.formats.record import Held
from fleet.formats.states import HandoffType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.model.agent import Agent


def order(fleet: Fleet, agent: Agent) -> str:
    """
    Queue a manual handoff of *agent*; the document's path.

    Raises:
        Refused: it was given up before and waits for `fleet queue retry`, the agent has ended meanwhile, or its folder
            is not there, so that no successor could start in it.
    """
    layout = fleet.layout
    if agent.cwd and not os.path.isdir(agent.cwd):
        raise Refused(f"the working directory {agent.cwd} of agent {agent.id} is not there",
                      hint="a successor would start in it; put it back, or `fleet stop` the agent")  # fmt: skip
    if os.path.exists(layout.dead_entry(agent.id)):
        raise Refused(
            f"the handoff of agent {agent.id} was given up", hint=f"`fleet queue retry {agent.id}` tries it again"
        )
    with Held(layout, agent.id) as held:
        if held.data is None:
            raise Refused(f"agent {agent.id} has ended")
        path = handoff.produce(
            layout, held.data, HandoffType.MANUAL, fleet.clock.wall(), context_pct=held.data["context_pct"]
        )
    if path is None:
        raise Refused(f"a handoff of agent {agent.id} is on its way already", hint="`fleet queue list` shows it")
    fleet.journal.tell(agent.id, "HandoffOrdered", source="cli", document=path)
    return path
