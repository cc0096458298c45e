"""The summary for status lines: what each agent does, written when something changed.

The sweep hands over what it saw anyway; between two sweeps only agents that stirred are looked at again, some time
after, because a hook's event line stands before its record.
"""

from __future__ import annotations

from fleet.errors import FleetError
from fleet.formats import segment, status
from fleet.formats.states import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from fleet.app import Fleet
    from fleet.observe.facts import Looker, Sight

SETTLE_SECONDS = 0.4
_ENDED = frozenset({Turn.EXITED, Turn.GONE})


class Summary:
    """The summary of one fleet home."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._rows: dict[str, dict[str, Any]] = {}
        self._stirred: set[str] = set()
        self._due: float | None = None
        self.seen: list[Sight] = []  #: what the last `advance` looked at, for others who want to know

    def begin(self) -> dict[str, list[int]]:
        """Stamps of all agents, to be taken before they are looked at."""
        return {agent_id: status.stamp(self._fleet.layout, agent_id) for agent_id in self._fleet.agents.ids()}

    def whole(self, sights: Iterable[Sight], before: dict[str, list[int]]) -> None:
        """Write what was seen of all agents."""
        self._rows = {s.agent.id: self._row(s, before.get(s.agent.id)) for s in sights}
        self._write()

    def stirred(self, agent_id: str) -> None:
        """Something happened to that agent."""
        self._stirred.add(agent_id)
        if self._due is None:
            self._due = self._fleet.clock.monotonic() + SETTLE_SECONDS

    def seconds_left(self) -> float | None:
        """Until the agents that stirred are to be looked at; None when none did."""
        return None if self._due is None else max(0.0, self._due - self._fleet.clock.monotonic())

    def advance(self, look: Looker, *, last: bool = False) -> bool:
        """Look at what stirred, when it is time or for the *last* time; whether anything was written."""
        self.seen = []
        if not (self._stirred and last) and self.seconds_left() != 0.0:
            return False
        stirred, self._stirred, self._due = self._stirred, set(), None
        before = dict(self._rows)
        for agent_id in stirred:
            stamp = status.stamp(self._fleet.layout, agent_id)
            try:
                agent = self._fleet.agents.get(agent_id)
            except FleetError:
                continue  # a record that cannot be read has no row, and the status line says that it lacks one
            if agent is not None:
                self.seen.append(look.see(agent))
                self._rows[agent_id] = self._row(self.seen[-1], stamp)
        live = set(self._fleet.agents.ids())
        self._rows = {agent_id: row for agent_id, row in self._rows.items() if agent_id in live}
        if before == self._rows:
            return False
        self._write()
        return True

    def _row(self, sight: Sight, stamp: list[int] | None) -> dict[str, Any]:
        agent, turn = sight.agent, sight.state.turn
        log = agent.transcript_path if turn == Turn.WAITING else None  # a working engine writes it all the time
        over = agent.context_pct is not None and agent.context_pct >= self._fleet.settings.number(
            "thresholds.yellow_pct"
        )
        row = {
            "turn": str(turn), "reason": str(sight.state.reason) if sight.state.reason else None,
            "since": sight.state.since, "task": agent.task_id, "over": over and turn not in _ENDED,
            "stamp": stamp,
        }  # fmt: skip
        if log and stamp:
            row |= {"log": log, "stamp": [*stamp[:4], *status.stamp(self._fleet.layout, agent.id, log)[4:]]}
        return row

    def _write(self) -> None:
        fleet = self._fleet
        config = status.config_stamp(fleet.layout)
        status.write(fleet.layout, self._rows, theme(fleet), fleet.clock.wall(), config)


def theme(fleet: Fleet) -> dict[str, Any]:
    """The words of the status line as the settings have them."""
    return {name: fleet.settings[f"status_line.{name}"] for name in segment.DEFAULT_THEME}


def refresh(fleet: Fleet) -> None:
    """Look at everything now, and write the summary."""
    summary, look = Summary(fleet), fleet.looker()
    before = summary.begin()
    summary.whole([look.see(agent) for agent in fleet.agents.living().agents], before)
