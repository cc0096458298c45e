"""What the pane scanner saw of an agent's screen."""

from __future__ import annotations

from fleet.formats.tuples import NamedTuple


class Screen(NamedTuple):
    """What a screen showed."""

    looked_at: float  #: the last look that could be taken
    changed_at: float | None = None  #: when it last showed something else, spinners and counters left out
    since: float | None = None  #: when the rule that recognises it did so first
    quiet_since: float | None = None  #: when it stopped to show work; None while it does
    rule: str | None = None  #: the rule that recognised it, as `explain` names it
    turn: str | None = None  #: what it tells of the turn (states.Turn); None: nothing
    reason: str | None = None  #: why the agent waits or idles (states.Reason)
    evidence: str = ""  #: the line that told
    question: str = ""  #: what an open dialog asks
    options: tuple[str, ...] = ()  #: the labels of its rows, top first
    detail: str = ""  #: the lines of an open dialog above its rows: the command, the change, the question
    typed: str = ""  #: what was typed into the composer
    background: int | None = None  #: background work that the screen names
    milestone_at: float | None = None  #: when a MILESTONE line last came up
    milestone: bool = False  #: it still stands there
    pane_id: str = ""
    server_pid: int = 0
    steady: str = ""  #: a digest of all that it showed, spinners and counters left out; empty: not known
