"""
Replacing the conversation by a summary.

The events are PreCompact, SubagentStop with an empty agent type (the summary is written by an agent of
its own, whose transcript does not exist), SessionStart(compact), PostCompact. The session keeps its id
and its file. No Stop fires, and by hand no UserPromptSubmit either.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from fleet.fakeagent import records
from fleet.fakeagent.ids import new_id, new_uuid

if TYPE_CHECKING:
    from fleet.fakeagent.clockwork import Steps
    from fleet.fakeagent.parts import Parts

ENOUGH_EXCHANGES = 2
SUMMARY_TOKENS = 800
SLUG = "calmly-faking-agent"  #: Every record of a compacted session carries one.
DONE = "Compacted (ctrl+o to see full summary)"
CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. The summary below "
    "covers the earlier portion of the conversation.\n\nSummary:\n{summary}\n\nIf you need specific details "
    "from before compaction (like exact code snippets, error messages, or content you generated), read the "
    "full transcript at: {path}"
)


def by_hand(parts: Parts, instructions: str) -> Steps[str]:
    """`/compact`; what the command says."""
    refusal = yield from _before(parts, "manual", instructions or None)
    if refusal is not None:
        return refusal
    if parts.model.exchanges < ENOUGH_EXCHANGES:
        return "Not enough messages to compact."
    yield from _compact(parts, "manual")
    return DONE


def by_itself(parts: Parts) -> Steps[bool]:
    """In the middle of a turn; whether it was done."""
    if (yield from _before(parts, "auto", None)) is not None:
        return False
    yield from _compact(parts, "auto")
    return True


def if_due(parts: Parts) -> Steps[None]:
    """Compact when the last usage says so."""
    limit = parts.client.auto_compact_tokens
    if limit and parts.model.context_tokens >= limit:
        yield from by_itself(parts)


def _before(parts: Parts, trigger: str, instructions: str | None) -> Steps[str | None]:
    parts.display.busy("(compacting)")
    fields = {"trigger": trigger, "custom_instructions": instructions}
    fired = yield from parts.hooks.fire("PreCompact", fields, subject=trigger)
    if fired.block is None:
        return None
    text = fired.block.block_text or ""
    shown = text if text.startswith("[") else f"[{fired.block.hook.command}]: {text}"
    return f"Compaction blocked by PreCompact hook: {shown}"


def _compact(parts: Parts, trigger: str) -> Steps[None]:
    started = time.monotonic()
    summary, before = parts.model.summary(), parts.model.context_tokens
    yield from parts.hooks.fire("SubagentStop", _agent(parts, summary))
    _write(parts, trigger, summary, before, round((time.monotonic() - started) * 1000))
    parts.model.compact(summary)
    parts.display.settle()
    parts.display.say("Conversation compacted (ctrl+o for history)", glyph="✻", colour=246)
    yield from parts.begin_session("compact")
    yield from parts.hooks.fire("PostCompact", {"trigger": trigger, "compact_summary": summary}, subject=trigger)


def _agent(parts: Parts, summary: str) -> dict[str, Any]:
    agent_id = new_id("a", 16)
    return {
        "agent_id": agent_id,
        "agent_type": "",
        "stop_hook_active": False,
        "agent_transcript_path": os.path.join(parts.session.folder, "subagents", f"agent-{agent_id}.jsonl"),
        "last_assistant_message": summary,
        "background_tasks": parts.background.listing(),
        "session_crons": [],
    }


def _write(parts: Parts, trigger: str, summary: str, before: int, milliseconds: int) -> None:
    anchor = new_uuid()
    logical = parts.transcript.parent
    parts.transcript.slug = SLUG
    boundary = records.compact_boundary(trigger, before, SUMMARY_TOKENS, milliseconds, logical, anchor)
    parts.transcript.entry(boundary, parent=None)
    inner = summary.partition("<summary>\n")[2].partition("\n</summary>")[0]
    text = CONTINUED.format(summary=inner, path=parts.session.transcript_path)
    parts.transcript.entry(records.compact_summary(parts.session.prompt_id, text), uuid=anchor)
