"""Which version of its engine an agent runs: the one place that decides it.

Its launch file has what the program was when it was started (`engines.versions.installed`); a client that updates
itself does so for its next start. What clients write into their logs would tell the same, later and of two only.
"""

from __future__ import annotations

from fleet.errors import FleetError
from fleet.formats import launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.formats.layout import Layout
    from fleet.model.agent import Agent


class Versions:
    """The versions of agents' engines. Each launch file is read once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: dict[str, str | None] = {}

    def of(self, agent: Agent) -> str | None:
        """The version, such as "2.1.197"; None where it is not known."""
        if agent.id not in self._known:
            try:
                told = launch.read(self._layout, agent.id).get("version")
            except (FleetError, OSError):
                return None  # it may be readable at the next look
            self._known[agent.id] = told if isinstance(told, str) else None
        return self._known[agent.id]
