"""What could be found out about one agent, and what is judged of it: the two ends of `model.judge`."""

from __future__ import annotations

from fleet.formats.states import Confidence, Existence, Reason, Turn
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fleet.model.screen import Screen


class Facts(NamedTuple):
    """What could be found out about one agent."""

    pane: Existence  #: whether its pane is there
    pane_error: str = ""  #: why that could not be looked at
    pane_dead: bool = False  #: its program ended and the pane was kept
    exit_status: int | None = None
    exit_signal: int | None = None
    running: bool | None = None  #: whether any process of its engine lives; None: could not look
    pid: int | None = None  #: its engine's, as recorded
    held: bool = False  #: the gate has not let it start yet
    held_for: str | None = None  #: the predecessor whose end it waits for
    prompted: bool = False  #: its launch carries a first prompt
    reports: bool = True  #: its engine has hooks
    queued: bool = False  #: a handoff of it is queued
    dead_letter: bool = False  #: its handoff was given up
    events: Sequence[dict[str, Any]] = ()  #: newest first
    settling: bool = False  #: the hook of the newest event has not written its verdict yet
    last_said: str | None = None  #: the kind of the last thing in the engine's log (formats.transcript.Said)
    screen: Screen | None = None  #: what the pane scanner saw, when that is fresh
    hold: str = ""  #: what keeps it from being woken or replaced, in words
    hold_since: float | None = None  #: wall seconds; when that began
    mail: bool = False  #: a message waits for it
    hold_over: bool = False  #: the hold that its last turn, which failed for a limit or a login, counted for is lifted

    @property
    def how_known(self) -> bool:
        """Whether tmux has said how the program ended: the pane is dead a moment before its status is known."""
        return self.exit_status is not None or self.exit_signal is not None

    @property
    def is_stray(self) -> bool:
        """Whether its engine has certainly outlived its pane: it runs where nobody sees or reaches it."""
        return self.pane == Existence.GONE and self.running is True

    @property
    def blindness(self) -> str:
        """That tmux could not be asked, and why, in words."""
        return "tmux could not be asked" + (f": {self.pane_error}" if self.pane_error else "")


class State(NamedTuple):
    """Fleet's judgement of an agent."""

    turn: Turn
    source: str  #: what it rests on: queue, pane, process, hook, log, launch, screen
    reason: Reason | None = None
    evidence: str = ""
    since: str | None = None  #: since when it has been so, RFC 3339; None: nothing tells
    background: int = 0  #: background tasks that the engine named at its last Stop
    exit_status: int | None = None
    exit_signal: int | None = None
    rule: str = ""  #: which rule of that source: an event's name, the kind of a log line, a screen rule
    confidence: Confidence | None = Confidence.SURE  #: None: there is no verdict, it is unknown
