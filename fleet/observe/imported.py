"""Looking at agents of an imported history: each is what it was at the time of the export. This host is not asked."""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import read_object
from fleet.formats.states import Existence, Reason, Turn
from fleet.model.panes import snapshot_of
from fleet.model.state import Facts, State
from fleet.observe.facts import REPORTS, Looker, Sight
from fleet.process.table import ProcessTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout
    from fleet.model.agent import Agent
    from fleet.model.panes import Panes, Snapshot
    from fleet.store.journal import Journal

SHOWN = "export"  #: the folder of such a home with what was no file of the home it came from


class ImportedLooker(Looker):
    """Has no tmux server and no processes, and opens no file that a record names."""

    def __init__(self, layout: Layout, journal: Journal) -> None:
        super().__init__(layout, journal, _nothing, lambda: "", lambda: 0.0)

    def snapshot(self, socket: str | None) -> Snapshot:  # noqa: ARG002  # whatever the record says
        """No panes."""
        return snapshot_of(())

    def table(self) -> ProcessTable:
        """No processes."""
        return ProcessTable(())

    def see(self, agent: Agent) -> Sight:
        """The agent as it was."""
        events: list[dict[str, Any]] = []
        for event in self._journal.newest_first(agent.id):
            events.append(event)
            if len(events) >= REPORTS:
                break
        view = self._view(agent.id)
        turn, reason = str(view.get("state")), view.get("reason")
        at = str(self._when() or "the time of the export")
        state = State(
            turn=Turn(turn) if turn in set(Turn) else Turn.UNKNOWN,
            reason=Reason(reason) if isinstance(reason, str) and reason in set(Reason) else None,
            source="export",
            evidence=f"as it was at {at}",
            since=None,
        )
        return Sight(agent, Facts(pane=Existence.UNKNOWN, events=events), state, None)

    def _view(self, agent_id: str) -> dict[str, Any]:
        try:
            return read_object(os.path.join(self.layout.home, SHOWN, "show", f"{agent_id}.json"))
        except (FileNotFoundError, BadFile):
            return {}

    def _when(self) -> object:
        try:
            return read_object(self.layout.inspection).get("exported_at")
        except (FileNotFoundError, BadFile):
            return None


def _nothing(socket: str) -> Panes:
    raise AssertionError(f"an imported history has no tmux server ({socket})")
