"""Claude Code (measured with 2.1.197).

Before a turn it may open, in this order: a first-run wizard, "do you trust this folder" (a trusted parent, or the main
work tree of a linked one, is enough), "Detected a custom API key" (default No), a warning about bypassed permissions
(default exit). No hook fires while one of them is open, and a blind Enter answers it; so each is looked for here,
before the launch. Its state file is `$CLAUDE_CONFIG_DIR/.claude.json`, else `~/.claude.json`; a running client
rewrites it and keeps entries that were added meanwhile.

A status line in the `--settings` file takes the place of the user's, so it runs the user's own command. An empty one
adds no line below the composer; the hints `? for shortcuts` and `esc to interrupt` give way to it, as to any status
line. `--plugin-dir FOLDER` gives one session the skills of a plugin: they stand in the request, no dialog opens, and
nothing is written to the user's folder (`--add-dir` would also widen what may be read and edited; a plugin named in a
settings file was not loaded).
"""

from __future__ import annotations

import functools
import os

from fleet import resources
from fleet.engines import hook_settings
from fleet.engines.base import Obstacle, Plan, git_roots, locate, parents, read_json
from fleet.engines.ruled import ruled_composer
from fleet.errors import Refused
from fleet.formats.atomic import Lock, write_file
from fleet.formats.events import HOOK_SECONDS
from fleet.settings import tags
from fleet.settings.merge import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from fleet.engines.base import Request
    from fleet.engines.screen import Composer

NAME = "claude-code"
SUPERVISOR = "supervisor"  #: the role of an agent that looks after others


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
    announces = True

    def plan(self, request: Request) -> Plan:
        """`claude --settings FILE --session-id UUID [--model M] [--] PROMPT`."""
        options = request.options
        argv = [locate(str(options["binary"]), request.env, "Claude Code")]
        path = request.layout.settings(request.agent_id)
        argv += ["--settings", path, "--session-id", request.conversation_id]
        if options.get("skills"):
            argv += ["--plugin-dir", resources.skills()]
        if options.get("supervision") or request.role == SUPERVISOR:
            argv += ["--plugin-dir", resources.supervision()]
        extra: dict[str, Any] = {"disableAgentView": True}
        if options.get("statusline") and (line := status_line(request)):
            extra["statusLine"] = line
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

    def resume(self, conversation_id: str) -> list[str] | None:
        """`--resume UUID`; a conversation without a turn is not known to it ("No conversation found", status 1)."""
        return ["--resume", conversation_id]

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
    import json  # noqa: PLC0415  # only for whom trust is given or taken back

    write_file(path, json.dumps(state, indent=2, ensure_ascii=False).encode(), mode=mode)


def set_up(env: Mapping[str, str]) -> str | None:
    """What is still to be done by hand before it can be dispatched; None when nothing is."""
    done = (read_json(state_file(env)) or {}).get("hasCompletedOnboarding") is True
    return None if done else "run `claude` once by hand and go through its set-up"


def user_settings(env: Mapping[str, str], python: str, *, statusline: bool) -> tuple[str, Wanted]:
    """The user's own settings file, and what fleet wants in it for agents that it did not start."""
    launcher = resources.hook_launcher()
    return os.path.join(os.path.abspath(config_dir(env)), "settings.json"), Wanted(
        engine=NAME,
        hooks={event: tags.hook_command(python, launcher, NAME, event) for event in hook_settings.EVENTS},
        timeouts=dict.fromkeys(hook_settings.EVENTS, HOOK_SECONDS),
        python=python,
        status_launcher=resources.status_launcher() if statusline else None,
    )


def settings_files(env: Mapping[str, str], cwd: str) -> list[str]:
    """The settings files that hold there; the nearest to the project comes first and wins."""
    project = os.path.join(cwd, ".claude")
    return [
        os.path.join(project, "settings.local.json"),
        os.path.join(project, "settings.json"),
        os.path.join(config_dir(env), "settings.json"),
    ]


def hooks_disabled_by(env: Mapping[str, str], cwd: str) -> str | None:
    """The settings file that switches all hooks off there, if one does."""
    for path in settings_files(env, cwd):
        value = (read_json(path) or {}).get("disableAllHooks")
        if value is not None:
            return path if value is True else None
    return None


def status_line(request: Request) -> dict[str, Any] | None:
    """The agent's status line: the user's own with our recording around it; None when it cannot be wrapped."""
    found = (read_json(path) or {} for path in settings_files(request.env, request.cwd))
    users: Any = next((settings["statusLine"] for settings in found if "statusLine" in settings), {})
    if not isinstance(users, dict) or (users and not isinstance(users.get("command"), str)):
        return None
    command = users.get("command")
    ours = tags.read_status(command, NAME)
    return {**users, "type": "command", "command": hook_settings.status_command(
        request, NAME, ours.wrapped if ours is not None else command)}  # fmt: skip
