"""The settings file that Claude Code (and the fake agent) gets with `--settings`, per agent.

Hooks in it run beside the user's own (2.1.197). Writing a draft outside the working directory opens a dialog in the
default permission mode, and so does reading a handoff document there; `permissions.allow` prevents both
(`additionalDirectories` does not). A path in a rule is absolute when it begins with `//`.
"""

from __future__ import annotations

import os
import shlex

from fleet.formats.approval import TIMEOUT_SECONDS
from fleet.formats.atomic import encode
from fleet.formats.events import HOOK_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.engines.base import Request

EVENTS = (
    "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "StopFailure", "PreCompact", "PostCompact",
    "Notification", "PermissionRequest",
)  # fmt: skip
HOLDS = "PermissionRequest"  #: the event whose hook may wait for the operator, if the settings say so


def hook_command(request: Request, engine: str, event: str) -> str:
    """The shell command of one hook."""
    return shlex.join([*request.hook_argv, engine, event])


def status_command(request: Request, engine: str, wrapped: str | None) -> str:
    """The shell command of the status line, around the user's own."""
    launcher = os.path.join(os.path.dirname(request.hook_argv[-1]), "status_line.py")
    own = ["--", wrapped] if wrapped is not None else []
    return shlex.join([*request.hook_argv[:-1], launcher, engine, *own])


def settings(request: Request, engine: str, extra: dict[str, Any] | None = None) -> bytes:
    """The file's content."""
    layout = request.layout
    allow = [
        f"Edit(/{layout.draft(request.agent_id)})", f"Write(/{layout.draft(request.agent_id)})",
        f"Edit(/{layout.drafts}/**)", f"Write(/{layout.drafts}/**)", f"Read(/{layout.drafts}/**)",
        f"Read(/{layout.handoffs}/**)", f"Read(/{layout.bodies}/**)", f"Read(/{layout.prompt(request.agent_id)})",
        f"Read(/{layout.tasks}/**)",
    ]  # fmt: skip
    hooks = {
        event: [{"hooks": [{"type": "command", "command": hook_command(request, engine, event),
                            "timeout": TIMEOUT_SECONDS if event == HOLDS else HOOK_SECONDS}]}]
        for event in EVENTS
    }  # fmt: skip
    data: dict[str, Any] = {"hooks": hooks, "permissions": {"allow": allow}, **(extra or {})}
    return encode(data)
