"""What a screen adds to a judgement: one pure function over what all else told and what the pane scanner saw.

A screen is heard over a hook only when it was looked at some time after the hook spoke, as both are a little late; and
it is heard to end a turn only when it has shown the same for a while, because between two tools a client may draw a
frame without its spinner. What a draft means is decided here too: the cancelled prompt that an early Esc has put
back (Claude Code 2.1.197 fires no hook and writes nothing then), our own wake line, or a person's half-typed text.
"""

from __future__ import annotations

from fleet.formats.states import Confidence, Existence, Reason, Turn
from fleet.formats.texts import WAKE_LINE
from fleet.formats.times import parse, rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.model.screen import Screen
    from fleet.model.state import Facts, State

SETTLE_SECONDS = 1.0  #: by so much a screen must be younger than what a hook said
STEADY_SECONDS = 3.0  #: so long a screen must have shown the end of a turn that nothing else tells of
FRESH_SECONDS = 15.0  #: an older look tells nothing any more
#: Reasons of waiting that a dialog on the screen can contradict.
_DIALOGS = frozenset({Reason.PERMISSION, Reason.QUESTION, Reason.TRUST, Reason.DIALOG})
_TOLD_BY_OTHERS = frozenset({"queue", "pane", "process"})


def with_screen(facts: Facts, state: State) -> State:
    """*state*, which the other sources told, with what the screen adds."""
    screen = facts.screen
    if screen is None or screen.turn is None or state.source in _TOLD_BY_OTHERS or facts.held:
        return state
    if facts.pane != Existence.ALIVE or facts.pane_dead:
        return state
    shown = Turn(screen.turn)
    reason = Reason(screen.reason) if screen.reason else None
    if reason == Reason.DRAFT:
        return _draft(facts, state, screen)
    if shown == Turn.WAITING:
        return _waiting(state, screen, reason)
    if shown == Turn.IDLE:
        return _idle(state, screen, reason)
    return _busy(state, screen, shown)


def _busy(state: State, screen: Screen, shown: Turn) -> State:
    if state.turn == shown or (state.turn, shown) == (Turn.COMPACTING, Turn.WORKING):
        return _agreed(_answered(state, screen), screen)
    return _by_screen(state, screen, shown, None) if is_younger(state, screen) else state


def _answered(state: State, screen: Screen) -> State:
    """A turn that went on after a question: the log says that it did, and the screen since when."""
    if state.rule != "PermissionRequest" or screen.since is None or screen.since <= (parse(state.since) or 0.0):
        return state
    return state._replace(since=rfc3339(screen.since))


def _waiting(state: State, screen: Screen, reason: Reason | None) -> State:
    if state.turn == Turn.WAITING and (state.reason == reason or {state.reason, reason} <= _DIALOGS):
        return _agreed(state._replace(reason=reason), screen)
    return _by_screen(state, screen, Turn.WAITING, reason) if is_younger(state, screen) else state


def _idle(state: State, screen: Screen, reason: Reason | None) -> State:
    if state.turn == Turn.IDLE:
        named = state.reason or (reason if is_younger(state, screen) else None)
        return _agreed(state._replace(reason=named), screen)
    if state.turn == Turn.WAITING and state.reason not in _DIALOGS:
        return state  # the engine said why, and its screen need not repeat it
    steady = screen.looked_at - (screen.quiet_since or screen.looked_at) >= STEADY_SECONDS
    return _by_screen(state, screen, Turn.IDLE, reason) if steady and is_younger(state, screen) else state


def _draft(facts: Facts, state: State, screen: Screen) -> State:
    if _same(screen.typed, WAKE_LINE):
        return _idle(state, screen, None)
    prompt = next((e for e in facts.events if e.get("event") == "UserPromptSubmit"), None)
    newest = next((e for e in facts.events if e.get("source") == "hook" and e.get("event") != "HookActed"), None)
    put_back = prompt is not None and newest is prompt and _same(screen.typed, str(prompt.get("prompt_head") or ""))
    if put_back and not facts.mail:  # where a message waits behind it, somebody must send or remove it
        return _idle(state, screen, Reason.INTERRUPTED)
    if state.turn == Turn.IDLE:
        return _by_screen(state, screen, Turn.WAITING, Reason.DRAFT) if is_younger(state, screen) else state
    after = _idle(state, screen, None)
    return after if after is state else after._replace(turn=Turn.WAITING, reason=Reason.DRAFT)


def _same(typed: str, sent: str) -> bool:
    """Whether one begins like the other, blanks and wrapping aside: a composer may show less than was sent."""
    one, other = ("".join(text.split()) for text in (typed, sent))
    return bool(one and other) and (one.startswith(other) or other.startswith(one))


def is_younger(state: State, screen: Screen) -> bool:
    """Whether the screen was looked at some time after what *state* rests on."""
    then = parse(state.since)
    return then is None or screen.looked_at - then >= SETTLE_SECONDS


def _agreed(state: State, screen: Screen) -> State:
    """The same, made sure, with what only the screen can tell."""
    return state._replace(
        evidence=screen.question or state.evidence,
        background=state.background if screen.background is None else screen.background,
        confidence=Confidence.SURE,
    )


def _by_screen(state: State, screen: Screen, turn: Turn, reason: Reason | None) -> State:
    contradicted = state.turn not in (Turn.UNKNOWN, Turn.STARTING)
    return state._replace(
        turn=turn,
        reason=reason,
        source="screen",
        evidence=screen.question or screen.evidence or "the screen",
        since=rfc3339(screen.since) if screen.since else state.since,
        background=state.background if screen.background is None else screen.background,
        rule=screen.rule or "",
        confidence=Confidence.GUESS if contradicted and turn == Turn.IDLE else Confidence.LIKELY,
    )
