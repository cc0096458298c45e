"""Every pane of a server in one call, as records."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet.errors import Unreachable
from fleet.formats.ids import id_of_session
from fleet.tmux.client import Tmux, is_no_server

FORMAT = (
    "#{session_id}|#{window_id}|#{pane_id}|#{pane_pid}|#{pid}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}"
    "|#{pane_in_mode}|#{session_attached}|#{@fleet_agent_id}|#{session_name}|#{@fleet_home}"
)


@dataclass(frozen=True, slots=True)
class Pane:
    """One pane as tmux had it."""

    session_id: str
    window_id: str
    pane_id: str
    pid: int
    server_pid: int
    dead: bool
    dead_status: int | None
    dead_signal: int | None
    in_mode: bool
    attached: int
    mark: str  #: the agent id that fleet wrote on the session
    session: str
    home: str  #: the fleet home that made the session: two homes may share a server


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one server had; `error` set means: could not look, and `panes` says nothing."""

    panes: tuple[Pane, ...] = ()
    error: str | None = None
    by_session: dict[str, list[Pane]] = field(default_factory=dict)

    def of_agent(self, agent_id: str, pane_id: str | None = None, server_pid: int | None = None) -> Pane | None:
        """
        The agent's pane: the recorded one, else the first of the session with its pre-allocated name.

        A pane id counts only on the server that gave it: another server gives the same ids again.
        """
        panes = self.by_session.get(f"fleet-{agent_id}", [])
        for pane in panes:
            if pane.pane_id == pane_id and server_pid in (None, pane.server_pid):
                return pane
        if pane_id is not None and any(p.server_pid == server_pid for p in panes):
            return None  # a person closed the agent's own pane and kept another one of its session
        return panes[0] if panes else None


def parse(text: str) -> tuple[Pane, ...]:
    """The panes in what list-panes printed; a line that does not fit is passed over."""
    panes = []
    for line in text.splitlines():
        parts = line.split("|", 12)
        if len(parts) != 13 or not parts[3].isdigit():
            continue
        panes.append(
            Pane(
                session_id=parts[0], window_id=parts[1], pane_id=parts[2], pid=int(parts[3]),
                server_pid=int(parts[4] or 0), dead=parts[5] == "1", dead_status=_number(parts[6]),
                dead_signal=_number(parts[7]), in_mode=parts[8] not in ("", "0"), attached=int(parts[9] or 0),
                mark=parts[10], session=parts[11], home=parts[12],
            )
        )
    return tuple(panes)


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def take(tmux: Tmux) -> Snapshot:
    """Look at the server once. No server is an empty snapshot; no answer is one with an error."""
    try:
        answer = tmux.ask("list-panes", "-a", "-F", FORMAT)
    except Unreachable as e:
        return Snapshot(error=str(e))
    if answer.status:
        return Snapshot() if is_no_server(answer.error) else Snapshot(error=answer.error.strip() or "tmux failed")
    panes = parse(answer.out)
    by_session: dict[str, list[Pane]] = {}
    for pane in panes:
        by_session.setdefault(pane.session, []).append(pane)
    return Snapshot(panes, None, by_session)


def fleet_sessions(snapshot: Snapshot) -> list[str]:
    """The names of the agents' sessions on that server."""
    return [name for name in snapshot.by_session if id_of_session(name)]
