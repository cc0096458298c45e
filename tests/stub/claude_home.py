"""
A Claude Code home in which the client opens no dialog.

Checked with 2.1.197. Without these keys the client, in this order: runs a first-start wizard that
contacts its maker whatever `ANTHROPIC_BASE_URL` says (exit 1 on a machine without internet); asks
whether the folder is trusted (it or a parent); asks about the API key, with No as the default; warns
about bypassed permissions, with "No, exit" as the default. With `CLAUDE_CONFIG_DIR` set the state file
is `.claude.json` in it, without it `~/.claude.json`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

API_KEY = "sk-dummy"
VERSION = "2.1.197"

#: Every hook event of this version but WorktreeCreate and WorktreeRemove: a hook there replaces what the client does.
EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "MessageDisplay",
)


def environment(home: Path, port: int, *, api_key: str = API_KEY) -> dict[str, str]:
    """The whole environment of a client that can reach nothing but the stub; start it with `env -i`."""
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": api_key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "IS_SANDBOX": "1",  # else root may not bypass permissions
    }


def hook_settings(command: str, events: tuple[str, ...] = EVENTS) -> dict[str, Any]:
    """Settings that run `COMMAND EVENT` for every event."""
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": f"{command} {event}"}]}] for event in events}}


def seed(home: Path, projects: list[Path], *, settings: dict[str, Any] | None = None, api_key: str = API_KEY) -> None:
    """Write the home; what is there already is kept where it says nothing else."""
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": VERSION,
        "theme": "dark",
        "customApiKeyResponses": {
            "approved": [api_key[-20:]],
            "rejected": [],
        },  # the last 20 characters count
        "officialMarketplaceAutoInstallAttempted": True,
        "projects": {os.path.realpath(project): trusted for project in projects},
    }
    config = home / ".claude"
    config.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (config / ".claude.json", home / ".claude.json"):
        _merge(path, state)
    _merge(config / "settings.json", {"skipDangerousModePermissionPrompt": True} | (settings or {}))


def _merge(path: Path, update: dict[str, Any]) -> None:
    """Merge *update* into the JSON object at *path*, in one replacement: a client may be reading it."""
    data = json.loads(path.read_text()) if path.exists() else {}
    _deep(data, update)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(data, indent=2))
    temporary.chmod(0o600)
    temporary.replace(path)


def _deep(data: dict[str, Any], update: dict[str, Any]) -> None:
    for name, value in update.items():
        if isinstance(value, dict) and isinstance(data.get(name), dict):
            _deep(data[name], value)
        else:
            data[name] = value
