"""What each source by itself says of an agent, and what would change the verdict: the pure half of `fleet explain`."""

from __future__ import annotations

from fleet.formats.states import Existence, Reason, Turn
from fleet.formats.tuples import NamedTuple
from fleet.model.judge import STRAY, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.state import Facts, State


class Opinion(NamedTuple):
    """One source's word."""

    source: str  #: queue, pane, process, hook, log, screen
    says: str  #: a state in words, or what it knows instead
    rule: str = ""
    evidence: str = ""
    at: str | None = None  #: RFC 3339; when the source said so, where it tells
    seen_at: float | None = None  #: wall seconds; the same of a look


_QUEUED = {
    (True, True): "waiting (dead-letter)",
    (False, True): "waiting (dead-letter)",
    (True, False): "waiting (handoff)",
}

#: What would make another state of one, by turn and then by reason of waiting.
_CHANGES = {
    Turn.STARTING: "the gate opens, or the engine reports its first event or shows its composer",
    Turn.WORKING: "the turn ends (Stop), fails or is interrupted; a dialog opens; the program ends",
    Turn.IDLE: "a prompt or a message starts a turn; a dialog opens; the program ends",
    Turn.COMPACTING: "the engine has summarised its context, or gives it up",
    Turn.EXITED: "`fleet handoff` goes on from what is known; `fleet stop` files it away",
    Turn.GONE: "`fleet recover` brings it back, `fleet handoff` goes on from what is known; `fleet stop` files it away",
    Turn.UNKNOWN: "tmux answers again, the engine reports, or its screen shows something that is recognised",
}
_STRAY = "`fleet handoff` ends its engine and goes on from what is known; `fleet stop` ends it and files it away"
SUSPENDED = "/suspended"  #: what the screen's rule ends with
#: Claude Code (2.1.197) has let go of its terminal at Ctrl-Z and waits for SIGCONT; no shell in its pane has an `fg`.
_SUSPENDED = "its engine is sent SIGCONT: `kill -CONT PID`, with the pid that `fleet show` tells"
_REASONS = {
    Reason.PERMISSION: "the dialog is answered (`fleet approve`, `fleet deny`, or by hand), or interrupted",
    Reason.QUESTION: "the question is answered (`fleet approve`, or by hand), or interrupted",
    Reason.TRUST: "the folder is trusted (`fleet approve`, or by hand)",
    Reason.LOGIN: "the engine is logged in, and the turn started again",
    Reason.LIMIT: "the limit is reset or raised, and the turn started again (`fleet hold list`)",
    Reason.DIALOG: "the dialog is closed: `fleet attach`",
    Reason.HANDOFF: "its successor accepts its prompt (`fleet queue list`)",
    Reason.DRAFT: "the text in the composer is sent or removed: `fleet attach`",
    Reason.DEAD_LETTER: "`fleet queue retry`, or `fleet stop`",
    Reason.HOLD: "the hold ends: `fleet hold list`",
}


def opinions(facts: Facts) -> list[Opinion]:
    """Every source's word, those that outrank others first."""
    return [*_queue(facts), _pane(facts), _process(facts), _hook(facts), *_log(facts), _screen(facts)]


def changes(state: State) -> str:
    """What would make another state of it."""
    if state.rule == STRAY:
        return _STRAY
    if state.rule.endswith(SUSPENDED):
        return _SUSPENDED
    if state.turn == Turn.IDLE and state.background:
        return f"its background work ends and the engine goes on; {_CHANGES[state.turn]}"
    return (_REASONS.get(state.reason) if state.turn == Turn.WAITING and state.reason else None) or _CHANGES.get(
        state.turn, "the operator acts"
    )


def _queue(facts: Facts) -> list[Opinion]:
    if not (facts.queued or facts.dead_letter):
        return []
    return [Opinion("queue", _QUEUED[facts.queued, facts.dead_letter])]


def _pane(facts: Facts) -> Opinion:
    if facts.pane == Existence.UNKNOWN:
        return Opinion("pane", "could not look", evidence=facts.blindness)
    if facts.pane == Existence.GONE:
        return Opinion("pane", "gone")
    if facts.pane_dead:
        how = f"signal {facts.exit_signal}" if facts.exit_signal else f"status {facts.exit_status}"
        return Opinion("pane", "its program has ended", evidence=how if facts.how_known else "")
    return Opinion("pane", "there", evidence="held at the gate" if facts.held else "")


def _process(facts: Facts) -> Opinion:
    words = {True: "running", False: "ended", None: "could not look"}
    return Opinion("process", words[facts.running])


def _hook(facts: Facts) -> Opinion:
    if not facts.reports:
        return Opinion("hook", "nothing", evidence="its engine does not report")
    alone = told(facts._replace(queued=False, dead_letter=False, held=False, pane_dead=False, last_said=None,
                                pane=Existence.ALIVE, running=True))  # fmt: skip
    if alone.source != "hook":
        return Opinion("hook", "nothing", evidence=alone.evidence)
    return Opinion("hook", words(alone), alone.rule, alone.evidence, alone.since)


def _log(facts: Facts) -> list[Opinion]:
    return [Opinion("log", f"last entry: {facts.last_said}")] if facts.last_said else []


def _screen(facts: Facts) -> Opinion:
    screen = facts.screen
    if screen is None:
        return Opinion("screen", "not looked at", evidence=_unscreened(facts))
    if screen.turn is None:
        return Opinion("screen", "not recognised", seen_at=screen.looked_at)
    says = f"{screen.turn} ({screen.reason})" if screen.reason else screen.turn
    return Opinion("screen", says, screen.rule or "", screen.question or screen.evidence, None, screen.looked_at)


def _unscreened(facts: Facts) -> str:
    """Why nothing is known of a screen."""
    if facts.pane == Existence.UNKNOWN:
        return facts.blindness
    if facts.pane == Existence.GONE:
        return "its pane is gone"
    if facts.pane_dead:
        return "its program has ended: `fleet peek` shows what it left there"
    return "no scanner runs, or its last look is too old: `fleet drain`"


def mail_stays(facts: Facts, state: State) -> str | None:
    """Why a message does not reach an idle agent, where its screen is the reason; None: there is no such message."""
    if not facts.mail or state.turn != Turn.IDLE or facts.screen is None or facts.screen.turn is not None:
        return None
    return "its screen is not recognised (an editor?), and nothing is typed into what shows no composer: `fleet attach`"


def words(state: State) -> str:
    """`waiting (permission)`, `idle +1`: with the background work that `fleet list` counts, too."""
    named = f"{state.turn} ({state.reason})" if state.reason else str(state.turn)
    return f"{named} +{state.background}" if state.background else named
