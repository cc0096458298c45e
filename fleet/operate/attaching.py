"""Whom to go to: the agents that wait, in the order in which they began to."""

from __future__ import annotations

from fleet.formats.states import Reason, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.observe.facts import Sight

#: How a list of agents is ordered for a person.
ORDER = {turn: place for place, turn in enumerate(
    (Turn.WAITING, Turn.IDLE, Turn.WORKING, Turn.COMPACTING, Turn.STARTING, Turn.UNKNOWN, Turn.EXITED, Turn.GONE)
)}  # fmt: skip


def by_state(sights: Iterable[Sight]) -> list[Sight]:
    """Waiting first, each state with the one that has been in it longest first."""
    return sorted(sights, key=lambda s: (ORDER[s.state.turn], s.state.since or "", s.agent.id))


def is_in(sight: Sight, server_pid: int | None, session_id: str | None) -> bool:
    """Whether the agent's pane is in that session of that server: ids are the server's own, `$0` is on every one."""
    return sight.pane is not None and (sight.pane.server_pid, sight.pane.session_id) == (server_pid, session_id)


def next_waiting(sights: Iterable[Sight], server_pid: int | None, session_id: str | None) -> Sight | None:
    """
    The agent that waits for a person and comes after the one in that session; round and round.

    One whose successor is being started waits for nobody. None: nobody waits, or only the one where we are.
    """
    waiting = [s for s in by_state(sights) if s.state.turn == Turn.WAITING and s.pane]
    waiting = [s for s in waiting if s.state.reason != Reason.HANDOFF]
    here = [at for at, s in enumerate(waiting) if is_in(s, server_pid, session_id)]
    if here:
        waiting = waiting[here[0] + 1 :] + waiting[: here[0]]
    return waiting[0] if waiting else None
