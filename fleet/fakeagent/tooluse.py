"""
One use of a tool: hooks before, permission, the work, hooks behind.

The dialog opens at once and PermissionRequest fires with it; whoever is first, a key or the hook,
decides. An Escape there ends the turn without any further event, and so does the answer no.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from fleet.fakeagent import dialogs, tools
from fleet.fakeagent.clockwork import Steps, Task, hold
from fleet.fakeagent.parts import Parts, Rejected

if TYPE_CHECKING:
    from fleet.fakeagent.hooks import Fired
    from fleet.fakeagent.model import ToolUse
    from fleet.fakeagent.tools import Result

YES, YES_ALWAYS = 0, 1
ALLOWED_BY_HOOK, DENIED_BY_HOOK = 100, 101


def run(parts: Parts, use: ToolUse) -> Steps[Result]:
    """
    Use a tool from beginning to end.

    Raises:
        Rejected: The user said no.
    """
    parts.display.say_tool(use.name, tools.argument(use))
    result = tools.misuse(parts, use)
    if result is None:
        result = yield from _with_hooks(parts, use)
    parts.display.say_result(result.shown)
    return result


def _with_hooks(parts: Parts, use: ToolUse) -> Steps[Result]:
    about: dict[str, Any] = {"tool_name": use.name, "tool_input": use.input, "tool_use_id": use.id}
    before = yield from parts.hooks.fire("PreToolUse", about, subject=use.name)
    refusal = _refusal(before)
    if refusal is not None:
        return tools.failure(refusal)
    allowed = before.permission is not None and before.permission.permission == "allow"
    if not allowed and not parts.permissions.allows(use.name, use.input, parts.session.permission_mode):
        denial = yield from _ask(parts, use)
        if denial is not None:
            return tools.failure(denial)
    started = time.monotonic()
    result = yield from tools.run(parts, use)
    milliseconds = round((time.monotonic() - started) * 1000)
    if result.failed:
        told = {"error": result.text, "is_interrupt": False, "duration_ms": milliseconds}
        yield from parts.hooks.fire("PostToolUseFailure", about | told, subject=use.name)
    else:
        told = {"tool_response": result.response, "duration_ms": milliseconds}
        after = yield from parts.hooks.fire("PostToolUse", about | told, subject=use.name)
        parts.heed(after, tool_use_id=use.id)
    return result


def _refusal(fired: Fired) -> str | None:
    if fired.block is not None:
        return fired.block.block_text
    decision = fired.permission
    return decision.permission_reason if decision is not None and decision.permission == "deny" else None


def _ask(parts: Parts, use: ToolUse) -> Steps[str | None]:
    """None when the tool may be used, else why not."""
    dialog = _dialog(parts, use)
    parts.display.dialog = dialog
    about = {
        "tool_name": use.name,
        "tool_input": use.input,
        "permission_suggestions": _suggestions(parts, use),
    }
    asking = Task(parts.hooks.fire("PermissionRequest", about, subject=use.name))
    reason: list[str] = []
    asking.finished.then(lambda: _obey_hook(dialog, asking, reason))
    notice = parts.loop.later(parts.client.permission_notice_seconds, lambda: _notice(parts))
    try:
        answer = yield from hold(dialog.answer)
    finally:
        notice.cancel()
        parts.display.dialog = None
    if answer == DENIED_BY_HOOK:
        return reason[0]
    if answer == YES_ALWAYS:
        _allow_always(parts, use)
    elif answer not in (YES, ALLOWED_BY_HOOK):
        raise Rejected
    return None


def _obey_hook(dialog: dialogs.Dialog, asking: Task[Fired], reason: list[str]) -> None:
    decision = asking.finished.value.permission
    if decision is None:
        return
    reason.append(decision.permission_reason or "Denied by PermissionRequest hook")
    if decision.permission == "allow":
        dialog.answer.set(ALLOWED_BY_HOOK)
    elif decision.permission == "deny":
        dialog.answer.set(DENIED_BY_HOOK)


def _notice(parts: Parts) -> None:
    told = {"message": "Claude needs your permission", "notification_type": "permission_prompt"}
    parts.hooks.start("Notification", told, subject="permission_prompt")


def _folder(parts: Parts, use: ToolUse) -> str:
    if use.name == "Bash":
        return parts.session.cwd
    return os.path.dirname(os.path.join(parts.session.cwd, str(use.input.get("file_path", ""))))


def _dialog(parts: Parts, use: ToolUse) -> dialogs.Dialog:
    folder = os.path.basename(_folder(parts, use))
    if use.name == "Bash":
        return dialogs.bash_permission(str(use.input["command"]), str(use.input.get("description", "")), folder)
    path = str(use.input.get("file_path", ""))
    shown = os.path.relpath(os.path.join(parts.session.cwd, path), parts.session.cwd)
    verb = "read" if use.name == "Read" else "create"
    return dialogs.file_permission(verb, os.path.basename(path), shown, str(use.input.get("content", "")), folder)


def _suggestions(parts: Parts, use: ToolUse) -> list[dict[str, Any]]:
    folders = {"type": "addDirectories", "directories": [_folder(parts, use)], "destination": "session"}
    edits = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    return [folders, edits] if use.name == "Bash" else [edits, folders]


def _allow_always(parts: Parts, use: ToolUse) -> None:
    parts.permissions.allow_folder(_folder(parts, use))
    if use.name != "Bash":
        parts.session.permission_mode = "acceptEdits"
