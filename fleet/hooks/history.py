"""What the hook did before, read from its agent's own event lines, newest first. No counter files."""

from __future__ import annotations

from fleet.formats import events, transcript
from fleet.formats.texts import HANDOFF_REQUESTED, MILESTONE
from fleet.hooks.policy import Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.formats.layout import Layout
    from fleet.hooks.payload import Payload

LOOK_BACK_BYTES = 256 * 1024
ACTED = "HookActed"  #: the event line that says what a hook call led to


def blocks_in_a_row(layout: Layout, agent_id: str, reason: str) -> int:
    """How often the turn's end was blocked for *reason* since the last prompt or the last tool call."""
    count = 0
    for event in events.read_from_end(layout.event_log(agent_id), LOOK_BACK_BYTES):
        if event["event"] == "UserPromptSubmit":
            break
        if event["event"] == ACTED and "block" in event:
            count += reason in event["block"]
            if event.get("tool_call"):  # between this block and the one before
                break
    return count


def blocks_of_turn(layout: Layout, agent_id: str) -> int:
    """How often the turn's end was blocked since the last prompt."""
    count = 0
    for event in events.read_from_end(layout.event_log(agent_id), LOOK_BACK_BYTES):
        if event["event"] == "UserPromptSubmit":
            break
        count += event["event"] == ACTED and "block" in event
    return count


def reminded(layout: Layout, agent_id: str) -> Level:
    """The highest threshold that was spoken of since the context was last emptied."""
    highest = Level.GREEN
    for event in events.read_from_end(layout.event_log(agent_id), LOOK_BACK_BYTES):
        cleared = event["event"] == "SessionStart" and event.get("session_source") == "clear"
        if cleared or event["event"] == "PostCompact":
            break
        if event["event"] == ACTED and isinstance(event.get("reminded"), int):
            highest = max(highest, Level(min(event["reminded"], 2)))
    return highest


def had_tool_call(payload: Payload) -> bool:
    """Whether the engine called a tool since the last prompt or block: then the row of blocks is broken."""
    for said in transcript.backwards(payload.engine, payload.transcript_path):
        if said.kind in ("tool", "result"):
            return True
        if said.kind in ("prompt", "feedback"):
            return False
    return False


def has_milestone(text: str) -> bool:
    """Whether MILESTONE stands alone on a line."""
    return any(line.strip() == MILESTONE for line in text.splitlines())


def milestone_reached(payload: Payload) -> bool:
    """Whether the agent printed MILESTONE since it was last asked to."""
    if has_milestone(payload.text("last_assistant_message")):
        return True
    for said in transcript.backwards(payload.engine, payload.transcript_path):
        if said.kind == "assistant" and has_milestone(said.text):
            return True
        if said.kind in ("feedback", "prompt") and HANDOFF_REQUESTED in said.text:
            return False
    return False
