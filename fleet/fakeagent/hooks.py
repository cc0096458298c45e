"""
Running the hooks of an event.

All hooks of one event run at the same time and the client waits for all of them. What they leave behind
for the model is written as attachments. Text for the model is cut: up to 10,000 characters arrive
whole, more becomes a file of the session with a preview in its place.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from fleet.fakeagent import records
from fleet.fakeagent.clockwork import Steps, hold
from fleet.fakeagent.ids import new_uuid
from fleet.fakeagent.outcome import Verdict, understand

if TYPE_CHECKING:
    from fleet.fakeagent.children import Child, Children
    from fleet.fakeagent.session import Session
    from fleet.fakeagent.settings import Hook, Settings

WHOLE_CHARACTERS = 10_000
PREVIEW_CHARACTERS = 2_000
WITH_MODE = frozenset(
    {
        "UserPromptSubmit",
        "Stop",
        "SubagentStop",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "PermissionRequest",
    }
)


class Fired(list[Verdict]):
    """What all hooks of one event wanted, in the order they are registered."""

    def __init__(self, event: str, label: str, verdicts: list[Verdict]) -> None:
        super().__init__(verdicts)
        self.event = event
        self.label = label  #: The event with what it was about, as `PostToolUse:Bash`.
        self.id = new_uuid()

    @property
    def context_label(self) -> str:
        """As `label`, in front of a text for the model."""
        return self.event if self.event == "SessionStart" else self.label

    @property
    def block(self) -> Verdict | None:
        """The first hook that blocks."""
        return next((verdict for verdict in self if verdict.block is not None), None)

    @property
    def stop_reason(self) -> str | None:
        """What the first hook said that wants the turn to end."""
        return next((verdict.stop_reason for verdict in self if verdict.stop_reason is not None), None)

    @property
    def permission(self) -> Verdict | None:
        """The strictest permission decision."""
        for behaviour in ("deny", "ask", "allow"):
            for verdict in self:
                if verdict.permission == behaviour:
                    return verdict
        return None

    @property
    def contexts(self) -> list[str]:
        """Texts for the model."""
        return [verdict.context for verdict in self if verdict.context is not None]


class Hooks:
    """Everything the settings want to be told."""

    def __init__(self, settings: Settings, session: Session, children: Children) -> None:
        self._settings = settings
        self._session = session
        self._children = children

    def fire(self, event: str, fields: dict[str, Any], *, subject: str = "", limit_seconds: float = 0) -> Steps[Fired]:
        """
        Run the hooks of *event* and wait for them.

        Args:
            event: The name, as in the settings.

            fields: What the payload says besides the common keys.

            subject: What a matcher is compared with.

            limit_seconds: No hook gets more time than this; 0 for the hooks' own limits.
        """
        running = self.start(event, fields, subject=subject, limit_seconds=limit_seconds)
        return (yield from self.wait(event, running, subject=subject))

    def wait(self, event: str, running: list[tuple[Hook, Child]], *, subject: str = "") -> Steps[Fired]:
        """Wait for hooks that were started; an interrupt ends them."""
        verdicts: list[Verdict] = []
        try:
            for hook, child in running:
                verdicts.append(understand(hook, (yield from hold(child.finished))))
        finally:
            for _, child in running:
                if not child.finished.done:
                    child.kill()
        named = subject and event in ("SessionStart", "PreToolUse", "PostToolUse")
        return Fired(event, f"{event}:{subject}" if named else event, verdicts)

    def start(
        self, event: str, fields: dict[str, Any], *, subject: str = "", limit_seconds: float = 0
    ) -> list[tuple[Hook, Child]]:
        """Run the hooks of *event* and do not wait."""
        hooks = self._settings.hooks_for(event, subject)
        if not hooks:
            return []
        payload = json.dumps(self._session.payload(event, fields, with_mode=event in WITH_MODE), ensure_ascii=False)
        env = self._session.environment()
        started = []
        for hook in hooks:
            seconds = min(hook.timeout_seconds, limit_seconds) if limit_seconds else hook.timeout_seconds
            child = self._children.start(hook.command, payload=payload, env=env, timeout_seconds=seconds, hook=True)
            started.append((hook, child))
        return started

    def attachments(self, fired: Fired, *, tool_use_id: str | None = None) -> tuple[list[dict[str, Any]], list[str]]:
        """The records that *fired* leaves behind, and the reminders the model gets."""
        written: list[dict[str, Any]] = []
        reminders: list[str] = []
        use = tool_use_id or fired.id
        common = {"hookName": fired.label, "toolUseID": use, "hookEvent": fired.event}
        for number, verdict in enumerate(fired, 1):
            quiet = verdict.block is not None or (verdict.instructs and fired.event == "UserPromptSubmit")
            if (verdict.text or verdict.instructs) and not quiet:
                text = self._cut(verdict.text, use, number, "stdout")
                written.append(_success(common, verdict, text))
                if text and fired.event in ("UserPromptSubmit", "SessionStart"):
                    reminders.append(f"{fired.label} hook success: {text}")
            if verdict.context is not None:
                context = self._cut(verdict.context, use, number, "additionalContext")
                ids = {"hookName": fired.context_label, "toolUseID": _context_id(fired, use)}
                shown = {"type": "hook_additional_context", "content": [context]} | common | ids
                written.append(records.attachment(shown))
                reminders.append(f"{fired.context_label} hook additional context: {context}")
            if verdict.finished.timed_out:
                written.append(cancelled(common, verdict.hook, verdict.finished.milliseconds, timed_out=True))
            if verdict.message is not None:
                said = {"type": "hook_system_message", "content": verdict.message} | common
                written.append(records.attachment(said))
        return written, reminders

    def _cut(self, text: str, use: str, number: int, kind: str) -> str:
        if len(text) <= WHOLE_CHARACTERS:
            return text
        folder = os.path.join(self._session.folder, "tool-results")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"hook-{use}-{number}-{kind}.txt")
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        size = f"{len(text) / 1024:.1f}KB"
        return (
            f"<persisted-output>\nOutput too large ({size}). Full output saved to: {path}\n\n"
            f"Preview (first 2KB):\n{text[:PREVIEW_CHARACTERS]}\n...\n</persisted-output>"
        )


def cancelled(common: dict[str, Any], hook: Hook, milliseconds: int, *, timed_out: bool) -> dict[str, Any]:
    """The record of a hook that was not waited for."""
    how = {"durationMs": milliseconds, "timedOut": timed_out, "timeoutMs": round(hook.timeout_seconds * 1000)}
    return records.attachment({"type": "hook_cancelled"} | common | {"command": hook.command} | how)


def _context_id(fired: Fired, use: str) -> str:
    if fired.event == "SessionStart":
        return fired.event
    return f"hook-{use}" if fired.event == "UserPromptSubmit" else use


def _success(common: dict[str, Any], verdict: Verdict, text: str) -> dict[str, Any]:
    finished = verdict.finished
    return records.attachment(
        {"type": "hook_success"}
        | common
        | {
            "content": text,
            "stdout": finished.stdout,
            "stderr": finished.stderr,
            "exitCode": finished.status,
            "command": verdict.hook.command,
            "durationMs": finished.milliseconds,
        }
    )
