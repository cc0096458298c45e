"""From what is known about an agent to what it is doing: one pure function, histories in, verdict out.

Sources in order: what the operator must act on, the pane and its process, the hooks' events, the engine's own log, the
screen. The screen is asked last and heard where the others are silent by nature: a person's answer to a dialog, an
early Esc, a dialog that no hook tells of, an engine without hooks (`model.seen`). Age alone never decides anything.
"""

from __future__ import annotations

from fleet.formats.states import Confidence, Existence, Reason, Turn
from fleet.formats.times import parse, rfc3339
from fleet.model.seen import with_screen
from fleet.model.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fleet.model.state import Facts

FAILURES = {"authentication_failed": Reason.LOGIN, "rate_limit": Reason.LIMIT}
#: Events that say something about the turn. SessionStart after a compaction says nothing new.
_TELLING = frozenset({
    "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "StopFailure", "Interrupt", "PreCompact", "PostCompact",
    "PermissionRequest", "Notification", "HookActed",
})  # fmt: skip

#: Events after which a turn may end without another one: by Esc, by an API error of Codex, by a killed hook.
_SILENT_ENDS = frozenset({"UserPromptSubmit", "Stop", "PermissionRequest"})

#: What may end the log while a question is open: the call it asks for. In a conversation's first turn the prompt may
#: stand behind the answer to it (Claude Code 2.1.197); one that is newer than the question has an event of its own.
_STILL_ASKED = frozenset({None, "tool", "prompt"})

#: Tools of Claude Code (2.1.197) that are a question and no permission: one with a choice, and a plan.
_QUESTIONS = frozenset({"AskUserQuestion", "ExitPlanMode"})

STRAY = "no-pane"  #: the rule of an engine that outlived its pane

#: Events that end a turn by themselves.
_ENDS = frozenset({"Stop", "StopFailure", "Interrupt", "PostCompact"})

#: What the last line of the log says of such an end.
_LAST_LINES: dict[str, tuple[Reason | None, str]] = {
    "interrupt": (Reason.INTERRUPTED, "the log ends with an interrupt"),
    "failed": (None, "the log says that the turn failed"),
    "ended": (None, "the log says that the turn is over"),
}


def judge(facts: Facts) -> State:
    """What the agent is doing."""
    state = _on_hold(facts, with_screen(facts, told(facts)))
    return state._replace(confidence=None) if state.turn == Turn.UNKNOWN else state


def _on_hold(facts: Facts, state: State) -> State:
    """What would be woken or replaced now, were it not for a hold, waits for that; what failed may go on after it."""
    asks = state.source == "screen" and facts.screen is not None and facts.screen.options
    if facts.hold_over and state.turn == Turn.WAITING and state.reason in FAILURES.values() and not asks:
        return state._replace(turn=Turn.IDLE, reason=None, source="hold", rule="", evidence="the hold is over")
    acts = (state.turn == Turn.IDLE and facts.mail) or (state.turn, state.reason) == (Turn.WAITING, Reason.HANDOFF)
    if not facts.hold or not (acts or state.source == "launch"):
        return state
    since = max(filter(None, (parse(state.since), facts.hold_since)), default=None)
    return state._replace(
        turn=Turn.WAITING, reason=Reason.HOLD, source="hold", rule="", evidence=facts.hold,
        since=rfc3339(since) if since is not None else None,
    )  # fmt: skip


def told(facts: Facts) -> State:
    """What it is doing by everything but its screen."""
    if facts.dead_letter:
        return State(turn=Turn.WAITING, reason=Reason.DEAD_LETTER, source="queue", evidence="its handoff was given up")
    if facts.pane == Existence.UNKNOWN:
        return State(turn=Turn.UNKNOWN, source="pane", evidence=facts.blindness)
    ended = _ended(facts)
    if facts.queued and (ended is not None or _turn(facts).turn != Turn.WORKING):
        return State(turn=Turn.WAITING, reason=Reason.HANDOFF, source="queue", evidence="its successor comes")
    if ended is not None:
        return ended
    if facts.held:
        until = f" until its predecessor {facts.held_for} has ended" if facts.held_for else ""
        return State(turn=Turn.STARTING, source="launch", evidence=f"held at the gate{until}")
    return _turn(facts)


def _ended(facts: Facts) -> State | None:
    """That its pane or its engine is gone, or both; None: neither certainly is."""
    if facts.is_stray:
        evidence = f"its pane is gone and its engine (pid {facts.pid}) still runs"
        return State(turn=Turn.UNKNOWN, source="process", evidence=evidence, rule=STRAY)
    if facts.running:
        return None
    if facts.pane == Existence.GONE:
        if facts.running is None:
            return State(turn=Turn.UNKNOWN, source="process", evidence="its session is gone; its process is not known")
        return State(turn=Turn.GONE, source="pane", evidence="neither session nor engine is left")
    if facts.pane_dead:
        how = f" with signal {facts.exit_signal}" if facts.exit_signal else f" with status {facts.exit_status}"
        evidence = "ended" + (how if facts.how_known else "")
        return State(
            turn=Turn.EXITED, source="pane", evidence=evidence, since=_goodbye(facts),
            exit_status=facts.exit_status, exit_signal=facts.exit_signal,
        )  # fmt: skip
    return None


def _goodbye(facts: Facts) -> str | None:
    """When the engine said that it ends; None: it did not."""
    last = next((e for e in facts.events if e.get("source") == "hook"), {})
    ends = last.get("event") == "SessionEnd" and last.get("reason") != "clear"
    return last.get("ts") if ends else None


def _turn(facts: Facts) -> State:
    """What the hooks' events and the engine's log say, newest first."""
    if not facts.reports:
        return State(turn=Turn.UNKNOWN, source="hook", evidence="its engine does not report")
    acted: dict[str, Any] | None = None
    reminded: State | None = None  # that it idles, by a reminder: told again what an earlier event may have told
    background = _background(facts.events)
    for event in facts.events:
        if (event["event"], event.get("how")) == ("Accepted", "resumed"):
            return State(turn=Turn.IDLE, source="screen", evidence="at its prompt again", since=event.get("ts"))
        if event.get("source") != "hook" or event["event"] not in _TELLING:
            continue
        if event["event"] == "HookActed":
            acted = acted or event
            continue
        state = _from_event(event, acted, facts, background)
        if state is None:
            continue
        if event["event"] != "Notification":
            return state if reminded is None or state.turn == Turn.IDLE else reminded
        reminded = state
    return reminded or State(turn=Turn.STARTING, source="launch", evidence="nothing reported yet")


def _background(events: Sequence[dict[str, Any]]) -> int:
    for event in events:
        if event["event"] == "Stop" and isinstance(event.get("background"), int):
            return int(event["background"])
    return 0


def _from_event(event: dict[str, Any], acted: dict[str, Any] | None, facts: Facts, background: int) -> State | None:
    """What one event says; None when it says nothing, and an earlier one decides."""
    verdict = _verdict(event, acted, facts)
    if verdict is None:
        return None
    turn, reason, evidence = verdict
    source = "hook"
    if event["event"] in _SILENT_ENDS and facts.last_said in _LAST_LINES and turn != Turn.IDLE and not facts.settling:
        turn, source = Turn.IDLE, "log"
        reason, evidence = _LAST_LINES[facts.last_said]
    sure = not facts.settling and (source == "log" or event["event"] in _ENDS or facts.last_said is not None)
    return State(
        turn=turn, reason=reason, source=source, evidence=evidence or event["event"], since=event.get("ts"),
        background=background, rule=str(facts.last_said if source == "log" else event["event"]),
        confidence=Confidence.SURE if sure else Confidence.LIKELY,
    )  # fmt: skip


def _verdict(  # noqa: C901, PLR0912  # one row per event: a table that branches
    event: dict[str, Any], acted: dict[str, Any] | None, facts: Facts
) -> tuple[Turn, Reason | None, str] | None:
    match event["event"]:
        case "UserPromptSubmit":
            return Turn.WORKING, None, ""
        case "Stop" if acted is not None and acted.get("on") == "Stop" and acted.get("block"):
            return Turn.WORKING, None, "the end of the turn was blocked: " + ", ".join(acted["block"])
        case "Stop":
            return (Turn.WORKING, None, "its Stop hook is still deciding") if facts.settling else (Turn.IDLE, None, "")
        case "StopFailure":
            reason = FAILURES.get(str(event.get("error")))
            return Turn.WAITING if reason else Turn.IDLE, reason, f"the turn failed: {event.get('error')}"
        case "Interrupt":
            return Turn.IDLE, Reason.INTERRUPTED, ""
        case "PreCompact" if event.get("trigger") == "manual" and facts.last_said == "command":
            return Turn.IDLE, None, "the log says that the command is over"
        case "PreCompact":
            return Turn.COMPACTING, None, ""
        case "PostCompact":
            return Turn.IDLE if event.get("trigger") == "manual" else Turn.WORKING, None, ""
        case "PermissionRequest" if facts.last_said in _STILL_ASKED:
            tool = event.get("tool_name")
            return Turn.WAITING, Reason.QUESTION if tool in _QUESTIONS else Reason.PERMISSION, f"asks to use {tool}"
        case "PermissionRequest":
            return Turn.WORKING, None, "the log went on after the question"
        case "SessionStart" if event.get("session_source") != "compact":
            unsent = facts.prompted and not any(e["event"] == "UserPromptSubmit" for e in facts.events)
            return Turn.STARTING if unsent else Turn.IDLE, None, ""
        case "SessionEnd" if event.get("reason") != "clear":
            return Turn.UNKNOWN, None, "the engine said goodbye and its process still runs"
        case "Notification" if event.get("notification_type") == "idle_prompt":
            return Turn.IDLE, None, ""
        case _:
            return None
