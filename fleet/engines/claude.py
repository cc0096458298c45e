"""Claude Code (measured with 2.1.197).

Before a turn it may open, in this order: a first-run wizard, "do you trust this folder" (a trusted parent, or the main
work tree of a linked one, is enough), "Detected a custom API key" (default No), a warning about bypassed permissions
(default exit). No hook fires while one of them is open, and a blind Enter answers it; so each is looked for here,
before the launch. Its state file is `$CLAUDE_CONFIG_DIR/.claude.json`, else `~/.claude.json`; a running client
rewrites it and keeps entries that were added meanwhile.
"""

from __future__ import annotations

import functools
import json
import os

from fleet.engines import hook_settings
from fleet.engines.base import Obstacle, Plan, git_roots, locate, parents, read_json
from fleet.engines.ruled import ruled_composer
from fleet.errors import Refused
from fleet.formats.atomic import Lock, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from fleet.engines.base import Request
    from fleet.engines.screen import Composer

NAME = "claude-code"


def config_dir(env: Mapping[str, str]) -> str:
    """The folder of the user's settings."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME", ""), ".claude")


def state_file(env: Mapping[str, str]) -> str:
    """The file with onboarding, trust and key approvals."""
    return os.path.join(env.get("CLAUDE_CONFIG_DIR") or env.get("HOME", ""), ".claude.json")


class ClaudeCode:
    """The engine."""

    name = NAME
    reports = True

    def plan(self, request: Request) -> Plan:
        """`claude --settings FILE --session-id UUID [--model M] [--] PROMPT`."""
        options = request.options
        argv = [locate(str(options["binary"]), request.env, "Claude Code")]
        path = request.layout.settings(request.agent_id)
        argv += ["--settings", path, "--session-id", request.conversation_id]
        extra: dict[str, Any] = {"disableAgentView": True}
        if request.model:
            argv += ["--model", request.model]
        if options["bypass_permissions"]:
            argv.append("--dangerously-skip-permissions")
        elif options["permission_mode"]:
            argv += ["--permission-mode", str(options["permission_mode"])]
        argv += [*map(str, options["args"]), *request.command]
        silenced = hooks_disabled_by(request.env, request.cwd)
        notes = []
        if silenced:
            notes.append(f"{silenced} sets disableAllHooks, so this agent cannot report: no context figure, no handoff")
        return Plan(
            argv=argv,
            prompt_prefix=["--"],
            env={"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1"},
            files={path: hook_settings.settings(request, NAME, extra)},
            hooks=not silenced,
            conversation_id=request.conversation_id,
            notes=notes,
        )

    def obstacles(self, request: Request) -> list[Obstacle]:
        """Onboarding, folder trust, key approval, the bypass warning, root."""
        env, found = request.env, []
        path = state_file(env)
        state = read_json(path) or {}
        if state.get("hasCompletedOnboarding") is not True:
            found.append(Obstacle("Claude Code was never set up on this account", "run `claude` once by hand"))
        if not is_trusted(state, request.cwd):
            found.append(
                Obstacle(
                    f"Claude Code does not trust {request.cwd} yet",
                    "dispatch with --trust, or run `claude` there once and answer its question",
                    functools.partial(add_trust, path, os.path.realpath(request.cwd), request.layout.trust_lock),
                )
            )
        key = env.get("ANTHROPIC_API_KEY", "")
        approved = _map(state.get("customApiKeyResponses")).get("approved")
        if key and key[-20:] not in (approved if isinstance(approved, list) else []):
            found.append(
                Obstacle("Claude Code would ask about the key in ANTHROPIC_API_KEY", "run `claude` once and approve it")
            )
        if request.options["bypass_permissions"]:
            settings = read_json(os.path.join(config_dir(env), "settings.json")) or {}
            accepted = settings.get("skipDangerousModePermissionPrompt") or state.get("bypassPermissionsModeAccepted")
            if accepted is not True:
                found.append(
                    Obstacle(
                        "Claude Code would ask whether bypassing permissions is meant",
                        "run `claude --dangerously-skip-permissions` once by hand and accept",
                    )
                )
            if os.getuid() == 0 and not env.get("IS_SANDBOX"):
                found.append(
                    Obstacle("Claude Code refuses to bypass permissions for root", "set IS_SANDBOX=1 in a sandbox")
                )
        return found

    def composer(self, lines: list[str]) -> Composer:
        """The composer, or the dialog in its place."""
        return ruled_composer(lines)


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def is_trusted(state: Mapping[str, Any], cwd: str) -> bool:
    """Whether the state file trusts *cwd*, a folder above it, or the main work tree it is linked to."""
    projects = _map(state.get("projects"))
    real = os.path.realpath(cwd)
    folders = {*parents(real), *parents(os.path.abspath(cwd)), *git_roots(real)}
    return any(_map(projects.get(folder)).get("hasTrustDialogAccepted") is True for folder in folders)


def add_trust(path: str, folder: str, lock: str) -> Callable[[], None]:
    """
    Write Claude Code's own trust record for *folder*, keeping everything else; returns what takes it back.

    Args:
        lock: held for each read-modify-write, so that dispatches at the same time do not undo each other.

    Raises:
        Refused: the state file is not what it should be; it was left alone.
    """
    target = os.path.realpath(path)
    with Lock(lock):
        state = read_json(target)
        if state is None:
            if os.path.exists(target):
                raise Refused(f"{path} is not a JSON object; it was left alone")
            state = {}
        before = _map(_map(state.get("projects")).get(folder)).get("hasTrustDialogAccepted")
        if before is True:
            return lambda: None
        _set_trust(target, state, folder, accepted=True)

    def undo() -> None:
        with Lock(lock):
            now = read_json(target)
            if now is not None:
                _set_trust(target, now, folder, accepted=before)

    return undo


def _set_trust(path: str, state: dict[str, Any], folder: str, *, accepted: object) -> None:
    projects = state.setdefault("projects", {})
    if not isinstance(projects, dict):
        raise Refused(f"{path}: projects is not an object; it was left alone")
    entry = projects.setdefault(folder, {})
    if accepted is None:
        entry.pop("hasTrustDialogAccepted", None)
        if not entry:
            del projects[folder]
    else:
        entry["hasTrustDialogAccepted"] = accepted
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o600
    write_file(path, json.dumps(state, indent=2, ensure_ascii=False).encode(), mode=mode)


def hooks_disabled_by(env: Mapping[str, str], cwd: str) -> str | None:
    """The settings file that switches all hooks off there, if one does; the nearest to the project wins."""
    project = os.path.join(cwd, ".claude")
    for path in (
        os.path.join(project, "settings.local.json"),
        os.path.join(project, "settings.json"),
        os.path.join(config_dir(env), "settings.json"),
    ):
        value = (read_json(path) or {}).get("disableAllHooks")
        if value is not None:
            return path if value is True else None
    return None
