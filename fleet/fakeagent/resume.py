"""
Which session this is, and what was said in it before.

A session can be resumed once its transcript exists, so not before its first prompt.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.fakeagent.errors import FakeAgentError, NoConversation
from fleet.fakeagent.ids import new_uuid
from fleet.fakeagent.session import project_dir

if TYPE_CHECKING:
    from fleet.fakeagent.options import Options
    from fleet.fakeagent.parts import Parts


def choose_session(options: Options, home: str, cwd: str) -> tuple[str, str]:
    """
    The session id, and the `source` of its SessionStart.

    Raises:
        NoConversation: There is no transcript to go on with.

        FakeAgentError: The id of a new session is taken.
    """
    folder = project_dir(home, cwd)
    if options.resume is not None:
        if not os.path.exists(os.path.join(folder, f"{options.resume}.jsonl")):
            raise NoConversation(f"No conversation found with session ID: {options.resume}")
        return options.resume, "resume"
    if options.continue_last:
        return _newest(folder), "resume"
    if options.session_id is not None and os.path.exists(os.path.join(folder, f"{options.session_id}.jsonl")):
        raise FakeAgentError(f"Session ID {options.session_id} is already in use.")
    return options.session_id or new_uuid(), "startup"


def _newest(folder: str) -> str:
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".jsonl")]
    except FileNotFoundError:
        names = []
    if not names:
        raise NoConversation("No conversation found to continue")
    return max(names, key=lambda name: os.path.getmtime(os.path.join(folder, name))).removesuffix(".jsonl")


def recall(parts: Parts) -> None:
    """Let the model know what was said, from the last compaction on."""
    said: list[str] = []
    for record in parts.transcript.resume():
        if record.get("subtype") == "compact_boundary":
            said = []
        if record.get("type") in ("user", "assistant"):
            said.append(_text(record.get("message", {})))
        usage = record.get("message", {}).get("usage") if record.get("type") == "assistant" else None
        if usage and record["message"].get("model") != "<synthetic>":
            names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            parts.model.context_tokens = sum(usage.get(name, 0) for name in names)
        if record.get("type") == "ai-title":
            parts.display.title = parts.transcript.title = record["aiTitle"]
    parts.model.recall(said)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or part.get("content") or part.get("input") or "") for part in content)
