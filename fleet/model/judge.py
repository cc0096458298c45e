"""From what is known about an agent to what it is doing: one pure function, histories in, verdict out.

Sources in order: what the operator must act on, the pane and its process, the hooks' events, the engine's own log.
What only a screen can tell is `unknown`. Age alone never decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleet.formats.states import Existence, Reason, Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

FAILURES = {"authentication_failed": Reason.LOGIN, "rate_limit": Reason.LIMIT}
#: Events that say something about the turn. SessionStart after a compaction says nothing new.
_TELLING = frozenset({
    "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "StopFailure", "Interrupt", "PreCompact", "PostCompact",
    "PermissionRequest", "Notification", "HookActed",
})  # fmt: skip

#: Events after which a turn may end without another one: by Esc, by an API error of Codex, by a killed hook.
_SILENT_ENDS = frozenset({"UserPromptSubmit", "Stop", "PermissionRequest"})

#: What the last line of the log says of such an end.
_LAST_LINES: dict[str, tuple[Reason | None, str]] = {
    "interrupt": (Reason.INTERRUPTED, "the log ends with an interrupt"),
    "failed": (None, "the log says that the turn failed"),
    "ended": (None, "the log says that the turn is over"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What could be found out about one agent."""

    pane: Existence  #: whether its pane is there
    pane_dead: bool = False  #: its program ended and the pane was kept
    exit_status: int | None = None
    exit_signal: int | None = None
    running: bool | None = None  #: whether any process of its engine lives; None: could not look
    held: bool = False  #: the gate has not let it start yet
    prompted: bool = False  #: its launch carries a first prompt
    reports: bool = True  #: its engine has hooks
    queued: bool = False  #: a handoff of it is queued
    dead_letter: bool = False  #: its handoff was given up
    events: Sequence[dict[str, Any]] = ()  #: newest first
    settling: bool = False  #: the hook of the newest event has not written its verdict yet
    last_said: str | None = None  #: the kind of the last thing in the engine's log (formats.transcript.Said)

    @property
    def how_known(self) -> bool:
        """Whether tmux has said how the program ended: the pane is dead a moment before its status is known."""
        return self.exit_status is not None or self.exit_signal is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Fleet's judgement of an agent."""

    turn: Turn
    reason: Reason | None = None
    source: str  #: what it rests on: queue, pane, process, hook, log, launch
    evidence: str = ""
    since: str | None = None  #: the time of the event that it rests on
    background: int = 0  #: background tasks that the engine named at its last Stop
    exit_status: int | None = None
    exit_signal: int | None = None


def judge(facts: Facts) -> State:
    """What the agent is doing."""
    if facts.dead_letter:
        return State(turn=Turn.WAITING, reason=Reason.DEAD_LETTER, source="queue", evidence="its handoff was given up")
    if facts.pane == Existence.UNKNOWN:
        return State(turn=Turn.UNKNOWN, source="pane", evidence="tmux could not be asked")
    ended = _ended(facts)
    if facts.queued and (ended is not None or _turn(facts).turn != Turn.WORKING):
        return State(turn=Turn.WAITING, reason=Reason.HANDOFF, source="queue", evidence="its successor comes")
    if ended is not None:
        return ended
    if facts.held:
        return State(turn=Turn.STARTING, source="launch", evidence="held at the gate")
    return _turn(facts)


def _ended(facts: Facts) -> State | None:
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
            turn=Turn.EXITED, source="pane", evidence=evidence, exit_status=facts.exit_status,
            exit_signal=facts.exit_signal,
        )  # fmt: skip
    return None


def _turn(facts: Facts) -> State:
    """What the hooks' events and the engine's log say, newest first."""
    if not facts.reports:
        return State(turn=Turn.UNKNOWN, source="hook", evidence="its engine does not report")
    acted: dict[str, Any] | None = None
    background = _background(facts.events)
    for event in facts.events:
        if event.get("source") != "hook" or event["event"] not in _TELLING:
            continue
        if event["event"] == "HookActed":
            acted = acted or event
            continue
        state = _from_event(event, acted, facts, background)
        if state is not None:
            return state
    return State(turn=Turn.STARTING, source="launch", evidence="nothing reported yet")


def _background(events: Sequence[dict[str, Any]]) -> int:
    for event in events:
        if event["event"] == "Stop" and isinstance(event.get("background"), int):
            return int(event["background"])
    return 0


def _from_event(
    event: dict[str, Any], acted: dict[str, Any] | None, facts: Facts, background: int
) -> State | None:
    """What one event says; None when it says nothing, and an earlier one decides."""
    verdict = _verdict(event, acted, facts)
    if verdict is None:
        return None
    turn, reason, evidence = verdict
    source = "hook"
    if event["event"] in _SILENT_ENDS and facts.last_said in _LAST_LINES and turn != Turn.IDLE and not facts.settling:
        turn, source = Turn.IDLE, "log"
        reason, evidence = _LAST_LINES[facts.last_said]
    return State(
        turn=turn, reason=reason, source=source, evidence=evidence or event["event"], since=event.get("ts"),
        background=background,
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
            return Turn.WORKING if facts.settling else Turn.IDLE, None, ""
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
        case "PermissionRequest" if facts.last_said in (None, "tool"):
            return Turn.WAITING, Reason.PERMISSION, f"asks to use {event.get('tool_name')}"
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
