"""Carrying out `fleet stop`: an order in the queue, `queue/stop-<id>.json`, outranks a handoff of the same agent.

The dispatch ends: the agent, and a successor that was on its way, with their sessions and records; what nobody got is
given back.
"""

from __future__ import annotations

import os

from fleet.drain import settling
from fleet.drain.attempts import Attempts
from fleet.drain.ending import Ender
from fleet.drain.handoffs import Progress
from fleet.errors import BadFile, Unreachable
from fleet.formats import launch, queue_entry
from fleet.formats.atomic import create_file, encode, read_object, remove_file
from fleet.formats.ids import is_id
from fleet.formats.times import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.formats.layout import Layout
    from fleet.observe.facts import Looker

SCHEMA_VERSION = 1
PREFIX, SUFFIX = "stop-", ".json"


def order(layout: Layout, agent_id: str, wall: float, grace_seconds: float) -> bool:
    """Write the order; False when there is one already."""
    data = {
        "schema_version": SCHEMA_VERSION,
        "agent_id": agent_id,
        "grace_seconds": grace_seconds,
        "ordered_at": rfc3339(wall),
    }
    return create_file(layout.stop_order(agent_id), encode(data))


class Stops:
    """The orders to end agents."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._ender = Ender(fleet)

    def waiting(self) -> list[str]:
        """The agents that are to end."""
        try:
            names = os.listdir(self._fleet.layout.queue)
        except FileNotFoundError:
            return []
        ids = (name.removeprefix(PREFIX).removesuffix(SUFFIX) for name in names if name.startswith(PREFIX))
        return sorted(agent_id for agent_id in ids if is_id(agent_id))

    def advance(self, agent_id: str, look: Looker) -> Progress:
        """One step for one order."""
        layout = self._fleet.layout
        try:
            data = read_object(layout.stop_order(agent_id), schema=SCHEMA_VERSION)
        except FileNotFoundError:
            return Progress.DONE
        except BadFile:
            data = {}
        grace = data.get("grace_seconds")
        seconds = float(grace) if isinstance(grace, (int, float)) else 5.0
        attempts = Attempts(layout, agent_id, self._fleet.clock)
        try:
            for one in self._both(agent_id):
                if not self._end(one, look, attempts, seconds):
                    return Progress.MOVING
        except Unreachable as e:
            attempts.note(f"could not look: {e}")
            return Progress.BLIND
        for path in (layout.entry(agent_id), layout.dead_entry(agent_id)):
            remove_file(path)
        attempts.forget()
        remove_file(layout.stop_order(agent_id))
        return Progress.DONE

    def _both(self, agent_id: str) -> list[str]:
        """The successor on its way, if there is one, then the agent itself."""
        for path in (self._fleet.layout.entry(agent_id), self._fleet.layout.dead_entry(agent_id)):
            try:
                return [queue_entry.read(path)["new_agent_id"], agent_id]
            except (FileNotFoundError, BadFile):
                continue
        return [agent_id]

    def _end(self, agent_id: str, look: Looker, attempts: Attempts, grace_seconds: float) -> bool:
        """Whether the agent is ended and filed away."""
        fleet = self._fleet
        agent = fleet.agents.get(agent_id)
        if agent is None:
            try:
                start = launch.read(fleet.layout, agent_id)
            except (FileNotFoundError, BadFile):
                return True
            fleet.panes_on(start["socket"]).end(agent_id)
            launch.remove(fleet.layout, agent_id)
            return True
        if not self._ender.step(agent, look, attempts, grace_seconds=grace_seconds):
            return False
        self._ender.end_session(agent, look)
        count = settling.give_back(fleet, agent)
        fleet.journal.tell(agent_id, "Stopped", undelivered=count)
        settling.file_away(fleet, agent_id, "stopped")
        return True
