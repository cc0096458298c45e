"""What an engine tells a hook, in one shape for all engines.

Claude Code 2.1.197 and Codex 0.171.0 use the same event names and the same JSON on stdin; Claude Code calls a turn
`prompt_id`, Codex `turn_id`. Codex sends no prompt id at SessionStart and SessionEnd, Claude Code none before the
first prompt. Gemini CLI 0.61.0 has names of its own, under which ours is registered with fleet's name of the event,
no id of a turn, and calls the answer `prompt_response`. For opencode 1.18.33 our plugin writes payloads in this
shape.
"""

from __future__ import annotations

import os

from fleet.formats import jsontext
from fleet.formats.events import PROMPT_HEAD_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TAIL_CHARACTERS = 300
#: What Gemini CLI 0.61.0 gives as the answer of a turn that failed or was interrupted early: its hook fires then too.
NO_ANSWER = "[no response text]"
#: What stands in its log of an error, and what that is called elsewhere.
GEMINI_FAILURES = {
    "authentication_error": "authentication_failed",
    "UNAUTHENTICATED": "authentication_failed",
    "API key not valid": "authentication_failed",
    "PERMISSION_DENIED": "authentication_failed",
    "rate_limit": "rate_limit",
    "RESOURCE_EXHAUSTED": "rate_limit",
    "quota": "rate_limit",
}


class Payload:
    """One hook call."""

    __slots__ = ("data", "engine", "event")

    def __init__(self, engine: str, event: str, data: dict[str, Any]) -> None:
        self.engine = engine
        self.event = event
        self.data = data

    def text(self, name: str) -> str:
        """A field that should be a text; empty when it is not."""
        value = self.data.get(name)
        return value if isinstance(value, str) else ""

    @property
    def turn_id(self) -> str | None:
        """The engine's id of the turn, where it has one."""
        return self.text("prompt_id") or self.text("turn_id") or None

    @property
    def transcript_path(self) -> str:
        """The engine's own log."""
        return self.text("transcript_path")

    def facts(self) -> dict[str, Any]:
        """What of it goes into the event line."""
        fields: dict[str, Any] = {
            "session_id": self.text("session_id") or None,
            "turn_id": self.turn_id,
            "transcript_path": self.transcript_path or None,
            "cwd": self.text("cwd") or None,
            "session_source": self.text("source") or None,  # `source` says who wrote the event line
        }
        for name in ("reason", "trigger", "notification_type", "error", "tool_name", "model"):
            fields[name] = self.text(name) or None
        if "prompt" in self.data:
            prompt = self.text("prompt")
            fields["prompt_head"] = prompt[:PROMPT_HEAD_CHARACTERS]
            fields["prompt_characters"] = len(prompt)
        if self.event in ("Stop", "StopFailure"):
            background = self.data.get("background_tasks")
            fields["background"] = len(background) if isinstance(background, list) else None
            fields["stop_hook_active"] = self.data.get("stop_hook_active") is True or None
            fields["tail"] = self.text("last_assistant_message")[-TAIL_CHARACTERS:] or None
        return fields


def parse(engine: str, event: str, raw: bytes) -> Payload:
    """
    The hook call whose standard input was *raw*.

    Raises:
        ValueError: it is not a JSON object.
    """
    data = jsontext.loads(raw.decode("utf-8", "replace"))
    if not isinstance(data, dict):
        raise ValueError("the payload is not an object")  # noqa: TRY004  # one kind of error for one kind of fault
    if engine == "gemini":
        event = _gemini(event, data)
    return Payload(engine, event, data)


def _gemini(event: str, data: dict[str, Any]) -> str:
    """Put the payload into our shape; what the event is, which for the end of a turn only the log tells."""
    path = data.get("transcript_path")
    if isinstance(path, str) and path:  # it goes through the agent's own home, which ends with the agent
        data["transcript_path"] = path = os.path.realpath(path)
    details = data.get("details")
    if isinstance(details, dict):
        data["tool_name"] = details.get("rootCommand") or details.get("toolName") or details.get("title")
    if "prompt_response" in data:
        data["last_assistant_message"] = data["prompt_response"]
    if event != "Stop" or data.get("prompt_response") != NO_ANSWER:
        return event
    from fleet.formats import transcript  # noqa: PLC0415  # only where a turn ended without an answer

    data["last_assistant_message"] = ""
    last = next(transcript.backwards("gemini", path), None)
    if last is not None and last.kind == "interrupt":
        return "Interrupt"
    if last is None or last.kind != "failed":
        return event
    data["last_assistant_message"] = last.text
    kind = next((kind for mark, kind in GEMINI_FAILURES.items() if mark in last.text), "server_error")
    data["error"] = kind
    return "StopFailure"
