"""The port to a terminal multiplexer: what fleet asks of the server that holds its agents' panes.

One contract suite holds for every implementation: tmux, and the in-memory double of the tests.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Protocol

from fleet.errors import Refused
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.formats.states import Existence


class Duplicate(Refused):
    """A session with that name is there already."""


class Pane(NamedTuple):
    """One pane as the server had it."""

    session_id: str
    window_id: str
    pane_id: str
    pid: int  #: of the program, 0 when the server does not tell it of a dead pane
    server_pid: int
    dead: bool
    dead_status: int | None
    dead_signal: int | None
    in_mode: bool
    attached: int
    version: str  #: the server's, "3.3a"
    mark: str  #: the agent id that fleet wrote on the session
    session: str
    home: str  #: the fleet home that made the session: two homes may share a server


class Snapshot(NamedTuple):
    """What one server had; `error` set means: could not look, and `panes` says nothing."""

    panes: tuple[Pane, ...] = ()
    error: str | None = None
    by_session: Mapping[str, Sequence[Pane]] = MappingProxyType({})
    by_id: Mapping[str, Pane] = MappingProxyType({})
    by_mark: Mapping[str, Pane] = MappingProxyType({})  #: the first pane with each

    def of_agent(self, agent_id: str, pane_id: str | None = None, server_pid: int | None = None) -> Pane | None:
        """
        The agent's pane.

        The recorded one, wherever a person has moved it and whatever they call its session now; without a record the
        first of the session with its pre-allocated name or its mark.

        A pane id counts only on the server that gave it: another server gives the same ids again.
        """
        if pane_id is not None:
            pane = self.by_id.get(pane_id)
            if pane is not None and server_pid in (None, pane.server_pid):
                return pane
            if any(pane.server_pid == server_pid for pane in self.panes[:1]):
                return None  # a person closed it, and kept others beside it
        return next(iter(self.by_session.get(f"fleet-{agent_id}", ())), self.by_mark.get(agent_id))


def snapshot_of(panes: Sequence[Pane]) -> Snapshot:
    """A snapshot that could be taken."""
    by_session: dict[str, list[Pane]] = {}
    by_id: dict[str, Pane] = {}
    by_mark: dict[str, Pane] = {}
    for pane in panes:
        by_session.setdefault(pane.session, []).append(pane)
        by_id.setdefault(pane.pane_id, pane)
        by_mark.setdefault(pane.mark, pane)
    return Snapshot(tuple(panes), None, by_session, by_id, by_mark)


class Terminal(NamedTuple):
    """What a pane's terminal does with what is typed, before its program sees it."""

    line_bytes: int | None = None  #: the longest line that reaches the program whole; None: any, or not known
    hides: bool = False  #: it is read line by line and not shown, as a password is


class Panes(Protocol):
    """One server."""

    socket: str

    def snapshot(self) -> Snapshot:
        """Every pane at once. No server is an empty snapshot; no answer is one with an error."""

    def existence(self, session: str) -> Existence:
        """Whether a session has exactly that name; never raises."""

    def open(self, agent_id: str, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Pane:
        """
        Make the agent's detached session `fleet-<id>` running *argv* (no shell) in *cwd*, marked as ours.

        Its pane outlives its program and keeps the exit status.

        Raises:
            Duplicate: a session with that name is there.
            Unreachable: the server refused or did not answer; a session may or may not be there.
        """

    def end(self, agent_id: str) -> None:
        """Remove the session `fleet-<id>`; one that is not there is fine. Raises Unreachable without an answer."""

    def close(self, pane: Pane) -> None:
        """
        Remove an agent's pane; one that is not there is fine.

        What a person opened beside it stays, in a session that is no longer ours: without marks, renamed.

        Raises:
            Unreachable: the server did not answer.
        """

    def collect(self) -> None:
        """Have the server take note of programs of its own that have ended; never raises, waits for nothing."""

    def capture(self, pane_id: str, *, styled: bool = False, history: int = 0) -> list[str]:
        """
        The screen, top first, without the empty lines at its end, with *history* lines above it.

        Raises:
            Unreachable: no answer, or no such pane.
        """

    def paste(self, pane_id: str, data: bytes, *, bracketed: bool = True) -> None:
        """Paste *data* byte for byte, bracketed where the program asked for it. Raises Unreachable."""

    def bracketed(self, pane_id: str) -> bool | None:
        """
        Whether a paste would be bracketed now: the program asked for it and the pane is in no mode; None: not told.

        Without, each line of a paste is an input of its own. Raises Unreachable.
        """

    def terminal(self, pane_id: str) -> Terminal:
        """What becomes there of what is typed. Raises Unreachable."""

    def enter(self, pane_id: str) -> None:
        """Press Enter so that the program gets it, in copy mode too. Raises Unreachable."""

    def press(self, pane_id: str, key: str) -> None:
        """Press Up or Down. A pane in copy mode takes it for itself. Raises Unreachable."""

    def size(self, pane_id: str) -> tuple[int, int]:
        """Columns and lines of the pane. Raises Unreachable."""

    def make_room(self, pane_id: str, *, full: bool = False) -> bool:
        """
        Give a window its first size back that a small client left too small to be read, unless somebody looks at it.

        With *full* one that is smaller than that in either way counts as too small.

        Returns whether it did. Raises Unreachable.
        """
