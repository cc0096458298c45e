"""After a reboot, a killed tmux server or a closed laptop: which agents are brought back, how, and in which order.

One pure function: from what is left of an agent to its fate. An agent is brought back only when everything of it is
certainly gone and nothing says that it had ended before; every doubt leaves it alone.
"""

from __future__ import annotations

from enum import StrEnum

from fleet.formats.states import Existence
from fleet.formats.tuples import NamedTuple


class Fate(StrEnum):
    """What becomes of an agent."""

    RESUME = "resume"  #: brought back in its own conversation
    RESTART = "restart"  #: brought back from its last handoff document or its prompt
    FOLLOW = "follow"  #: its handoff was on its way already, and goes on
    RUNS = "runs"  #: nothing is wrong with it
    ENDED = "ended"  #: it had ended by itself
    STOPPING = "stopping"  #: the operator has ordered its end
    GIVEN_UP = "given-up"  #: its engine is gone, and its handoff waits for the operator
    ELSEWHERE = "elsewhere"  #: it belongs to another machine
    NO_FOLDER = "no-folder"  #: there is no folder for it to come back in
    NO_PANE = "no-pane"  #: its engine outlived its session, and nobody can see it
    UNKNOWN = "unknown"  #: could not look


#: The fates of agents that are brought back.
BACK = frozenset({Fate.RESUME, Fate.RESTART})


class Remains(NamedTuple):
    """What is left of one agent, and what was written down of it."""

    here: bool = True  #: its record names this machine, or none
    pane: Existence = Existence.GONE
    pane_dead: bool = False  #: its pane keeps the last screen of a program that ended
    running: bool | None = False  #: whether a process of its engine lives; None: could not look
    process: str = ""  #: which, in words; none where it had no pane to lose
    ended: str | None = None  #: how it is known that it ended by itself
    leaving: bool = False  #: a handoff of it is queued, or it is the successor of one
    given_up: bool = False  #: its handoff is a dead letter
    stopping: bool = False  #: an order to end it is queued
    rebooted: bool = False  #: it was started in an earlier boot
    resume: bool = True  #: its engine can go on with a conversation
    conversation: str | None = None
    log: bool = False  #: the engine's log of that conversation is there
    cwd: str = ""
    folder: bool | None = True  #: whether that is there; None: could not look


def fate(remains: Remains) -> tuple[Fate, str]:
    """What becomes of the agent, and why, in words."""
    if remains.stopping:
        return Fate.STOPPING, "it was ordered to end"
    if remains.given_up and not remains.running:  # one that runs has not gone, and can be asked again
        return Fate.GIVEN_UP, "its handoff was given up and waits for you"
    if not remains.here:
        return Fate.ELSEWHERE, "it belongs to another machine"
    if remains.leaving:
        return Fate.FOLLOW, "its handoff was on its way and goes on"
    if (there := _there(remains)) is not None:
        return there
    if remains.ended is not None:
        return Fate.ENDED, remains.ended
    if remains.folder is None:
        return Fate.UNKNOWN, f"its folder {remains.cwd} could not be looked at"
    if not remains.folder:
        return Fate.NO_FOLDER, f"left alone: its folder {remains.cwd} is not there"
    gone = "the machine was started anew" if remains.rebooted else "its tmux session had gone"
    why = _no_resume(remains)
    return (Fate.RESUME, gone) if why is None else (Fate.RESTART, f"{gone}; {why}")


def _there(remains: Remains) -> tuple[Fate, str] | None:
    """The fate of one of which something may be there; None: its engine and its session are gone."""
    if remains.pane == Existence.UNKNOWN:
        return Fate.UNKNOWN, "tmux could not be asked"
    if remains.running is None:
        return Fate.UNKNOWN, "its process could not be looked for"
    if remains.running and remains.process and remains.pane == Existence.GONE:
        ways = "`fleet handoff` ends it and goes on, `fleet stop` ends it"
        return Fate.NO_PANE, f"left alone: {remains.process} still runs without a pane; {ways}"
    if remains.running:
        return Fate.RUNS, "its engine runs"
    if remains.pane == Existence.ALIVE:
        return (Fate.ENDED, "its engine ended") if remains.pane_dead else (Fate.RUNS, "its session is there")
    return None


def _no_resume(remains: Remains) -> str | None:
    if not remains.resume:
        return "its engine cannot go on with a conversation"
    if remains.conversation is None:
        return "its conversation is not known"
    return None if remains.log else "the log of its conversation is gone"


def order_of(priority: object, spawned_at: str | None, agent_id: str) -> tuple[int, str, str]:
    """A key to sort by: the higher priority first, then the older agent."""
    known = priority if isinstance(priority, int) and not isinstance(priority, bool) else 0
    return -known, spawned_at or "", agent_id
