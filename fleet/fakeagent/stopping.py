"""
The end of a turn, which Stop hooks may refuse.

A block makes its reason the next user message, and the next Stop says `stop_hook_active`. After a
number of blocks in a row with no tool between them the client gives up on the hooks;
`CLAUDE_CODE_STOP_HOOK_BLOCK_CAP` is how many it accepts (8, so that the ninth Stop is the last). Text
for the model without a block goes on with the turn as well.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fleet.fakeagent import records
from fleet.fakeagent.hooks import cancelled
from fleet.fakeagent.ids import new_uuid
from fleet.fakeagent.parts import Interrupted

if TYPE_CHECKING:
    from fleet.fakeagent.children import Child
    from fleet.fakeagent.clockwork import Steps
    from fleet.fakeagent.hooks import Fired
    from fleet.fakeagent.outcome import Verdict
    from fleet.fakeagent.parts import Parts
    from fleet.fakeagent.settings import Hook

DEFAULT_CAP = 8


class Stopping:
    """The Stops of one turn."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._active = False
        self._blocks = 0

    def tool_used(self) -> None:
        """Something was done; the counting begins anew."""
        self._blocks = 0

    def goes_on(self, text: str) -> Steps[bool]:
        """Ask the hooks; whether the turn goes on."""
        parts = self._parts
        parts.display.busy("(running stop hook)")
        told = {
            "stop_hook_active": self._active,
            "last_assistant_message": text,
            "background_tasks": parts.background.listing(),
            "session_crons": [],
        }
        running = parts.hooks.start("Stop", told)
        try:
            fired = yield from parts.hooks.wait("Stop", running)
        except Interrupted:
            self._cancel(running)
            raise
        parts.display.busy("")
        if not fired:
            return False
        blocks = [verdict for verdict in fired if verdict.block is not None] if fired.stop_reason is None else []
        for verdict in blocks:
            self._feed_back(fired, verdict)
        if fired.stop_reason is not None:
            self._stop(fired)
        parts.heed(fired)
        self._summarise(fired, blocks)
        contexts = fired.contexts if fired.stop_reason is None else []
        if not blocks and not contexts:
            return False
        self._show(len(fired), [f"Stop hook error: {verdict.block}" for verdict in blocks], contexts)
        if blocks:
            parts.model.ask("\n".join(_feedback(verdict) for verdict in blocks))
        return self._counted()

    def _cancel(self, running: list[tuple[Hook, Child]]) -> None:
        about = {"hookName": "Stop", "toolUseID": new_uuid(), "hookEvent": "Stop"}
        for hook, child in running:
            record = cancelled(about, hook, child.milliseconds(), timed_out=False)
            self._parts.transcript.entry(record)

    def _feed_back(self, fired: Fired, verdict: Verdict) -> None:
        transcript, prompt_id = self._parts.transcript, self._parts.session.prompt_id
        transcript.entry(records.feedback(prompt_id, _feedback(verdict)))
        error = {"blockingError": verdict.block_text, "command": verdict.hook.command}
        about = {"hookName": "Stop", "toolUseID": fired.id, "hookEvent": "Stop"}
        transcript.entry(records.attachment({"type": "hook_blocking_error"} | about | {"blockingError": error}))

    def _stop(self, fired: Fired) -> None:
        about = {"hookName": "Stop", "toolUseID": fired.id, "hookEvent": "Stop"}
        stopped = {"type": "hook_stopped_continuation", "message": fired.stop_reason} | about
        self._parts.transcript.entry(records.attachment(stopped))
        self._show(len(fired), [fired.stop_reason or ""], [])

    def _summarise(self, fired: Fired, blocks: list[Verdict]) -> None:
        failed = [verdict for verdict in fired if verdict.finished.status not in (0, 2) or verdict.finished.timed_out]
        self._parts.transcript.entry(
            records.system(
                "stop_hook_summary",
                {
                    "hookCount": len(fired),
                    "hookInfos": [_info(verdict) for verdict in fired],
                    "hookErrors": [verdict.block for verdict in blocks] + [_error(verdict) for verdict in failed],
                    "hookAdditionalContext": fired.contexts,
                    "preventedContinuation": fired.stop_reason is not None,
                    "stopReason": fired.stop_reason or "",
                    "hasOutput": any(verdict.finished.stdout or verdict.block is not None for verdict in fired),
                    "level": "suggestion",
                    "toolUseID": fired.id,
                },
            )
        )
        for verdict in failed:
            self._parts.display.say_result(f"Stop hook error: {_error(verdict)}")

    def _show(self, count: int, errors: list[str], contexts: list[str]) -> None:
        self._parts.display.say(f"Ran {count} stop hook{'s' if count > 1 else ''} (ctrl+o to expand)")
        for line in [*errors, *(f"Stop hook feedback: {context}" for context in contexts)]:
            self._parts.display.say_result(line)

    def _counted(self) -> bool:
        self._active = True
        self._blocks += 1
        setting = os.environ.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
        if self._blocks <= (int(setting) if setting.isdecimal() else DEFAULT_CAP):
            return True
        text = (
            f"A hook blocked the turn from ending {self._blocks} consecutive times — overriding and ending "
            "turn. For Stop/SubagentStop hooks, check stop_hook_active in the input and return success while "
            "it's true. Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP to raise this limit."
        )
        self._parts.transcript.entry(records.remark(text))
        self._parts.display.say(text, colour=220)
        return False


def _feedback(verdict: Verdict) -> str:
    return f"Stop hook feedback:\n{verdict.block_text}"


def _info(verdict: Verdict) -> dict[str, Any]:
    timed = {} if verdict.block is not None else {"durationMs": verdict.finished.milliseconds}
    return {"command": verdict.hook.command} | timed


def _error(verdict: Verdict) -> str:
    if verdict.finished.timed_out:
        return f"{verdict.hook.command} timed out"
    return f"Failed with non-blocking status code: {verdict.finished.stderr.strip() or 'No stderr output'}"
