"""What an engine tells a hook, in one shape for all engines.

Claude Code 2.1.197 and Codex 0.171.0 use the same event names and the same JSON on stdin; Claude Code calls a turn
`prompt_id`, Codex `turn_id`. Codex sends no prompt id at SessionStart and SessionEnd, Claude Code none before the
first prompt.
"""

from __future__ import annotations

import json

from fleet.formats.events import PROMPT_HEAD_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVENTS = {
    "claude-code": (
        "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "StopFailure", "PreCompact", "PostCompact",
        "Notification", "PermissionRequest",
    ),
    "codex": (
        "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "Interrupt", "PreCompact", "PermissionRequest",
    ),
}  # fmt: skip
EVENTS["fake"] = EVENTS["claude-code"]

TAIL_CHARACTERS = 300


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
    data = json.loads(raw.decode("utf-8", "replace"))
    if not isinstance(data, dict):
        raise ValueError("the payload is not an object")  # noqa: TRY004  # one kind of error for one kind of fault
    return Payload(engine, event, data)
