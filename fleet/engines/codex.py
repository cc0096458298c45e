"""Codex (measured with 0.171.0).

npm's `codex` is a node wrapper around a native binary in a platform package; a kill -9 of the wrapper leaves the
binary working, so the binary itself is started. Everything fleet needs goes in by `-c` flags of this one process:
hooks with the trust hash that "Trust all and continue" would write, project trust, no app-server daemon (with it,
hooks run with the first client's environment). No file of CODEX_HOME is touched. Trust goes in as one table:
in a git repository `projects."/dir".trust_level=…` opens the dialog all the same. A linked worktree has the trust of
its main checkout. SessionStart fires with the first prompt and is no sign of readiness. SIGTERM ends it with status 1
and without SessionEnd.

Hooks of the user's hooks.json that nobody has reviewed open "Hooks need review" in the place of the composer, and the
prompt waits; `enabled=false` in hooks.state does not help, a trusted hash given by flag does. So fleet's own entries
there (`fleet init --user-hooks`) are vouched for in the agents that fleet dispatches, and no others.

There is no clean way to give one process a skill: roots are CODEX_HOME/skills, ~/.agents/skills, the repository's
.agents/skills, /etc/codex/skills and installed plugins, `skills.config` only switches what was found there, and
`developer_instructions` would take the place of the user's own. What an agent must know stands in fleet's own texts.

The composer's glyph is bold and not dim (that of past prompts is dim); its placeholder is dim.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import tomllib

from fleet import resources
from fleet.engines.base import Obstacle, Plan, git_roots, locate, read_json
from fleet.engines.hook_settings import hook_command
from fleet.engines.screen import Box, Composer, cells, plain, typed
from fleet.settings import tags
from fleet.settings.merge import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.engines.base import Request

NAME = "codex"
EVENTS = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "Interrupt", "PreCompact", "PermissionRequest")
TIMEOUT_SECONDS = 10
#: A larger time-out is cut for these, and the cut one is hashed.
TIMEOUT_CAPS = {"SessionEnd": 3, "Interrupt": 3}
GLYPH = "›"
_OPTION = re.compile(rf"^\s*{GLYPH}?\s*\d+\.\s")
#: Beneath the composer while a person looks for an earlier prompt: what is pasted would be looked for.
_SEARCH = re.compile(r"^ *reverse-i-search:")
_CONFIRM = re.compile(r"enter to confirm|enter to continue|esc to cancel", re.IGNORECASE)


def native_binary(path: str) -> str:
    """The native binary behind npm's wrapper at *path*; *path* itself when it is none."""
    real = os.path.realpath(path)
    if not real.endswith(".js"):
        return real
    package = os.path.dirname(os.path.dirname(real))
    for root in (os.path.join(package, "node_modules", "@openai"), os.path.dirname(package)):
        found = glob.glob(os.path.join(root, "codex-*", "vendor", "*", "bin", "codex"))
        if len(found) == 1 and os.access(found[0], os.X_OK):
            return found[0]
    return path


def hook_flags(commands: Mapping[str, str], trusted: Mapping[str, str] | None = None) -> list[str]:
    """Flags that give one process its own, trusted hooks; *trusted* holds digests of others by their keys."""
    flags: list[str] = []
    state = {}
    for event, command in commands.items():
        seconds = seconds_of(event)
        state[f"/<session-flags>/config.toml:{_snake(event)}:0:0"] = _digest(event, command, seconds)
        entry = f'[{{hooks=[{{type="command",command={_toml(command)},timeout={seconds}}}]}}]'
        flags += ["-c", f"hooks.{event}={entry}"]
    every = {**state, **(trusted or {})}.items()
    entries = (f'{_toml(key)}={{trusted_hash="sha256:{digest}"}}' for key, digest in every)
    return [*flags, "-c", f"hooks.state={{{','.join(entries)}}}"]


def seconds_of(event: str) -> int:
    """The time-out of a hook of ours."""
    return min(TIMEOUT_SECONDS, TIMEOUT_CAPS.get(event, TIMEOUT_SECONDS))


def _digest(event: str, command: str, seconds: int) -> str:
    hook = {"async": False, "command": command, "timeout": seconds, "type": "command"}
    identity = {"event_name": _snake(event), "hooks": [hook]}
    exact = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(exact.encode()).hexdigest()


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def own_user_hooks(env: Mapping[str, str], python: str) -> dict[str, str]:
    """The digests of fleet's own hooks in the user's hooks.json, by their keys, and of nobody else's."""
    path, wanted = user_settings(env, python, statusline=False)
    found = {}
    hooks = _map((read_json(path) or {}).get("hooks"))
    for event, command in wanted.hooks.items():
        groups = hooks.get(event)
        for at, group in enumerate(groups if isinstance(groups, list) else []):
            inner = _map(group).get("hooks")
            if set(_map(group)) != {"hooks"} or not isinstance(inner, list):
                continue
            for index, hook in enumerate(inner):
                if hook == {"type": "command", "command": command, "timeout": wanted.timeouts[event]}:
                    for known in {path, os.path.realpath(path)}:
                        digest = _digest(event, command, wanted.timeouts[event])
                        found[f"{known}:{_snake(event)}:{at}:{index}"] = digest
    return found


def codex_home(env: Mapping[str, str]) -> str:
    """The folder of the user's settings."""
    return env.get("CODEX_HOME") or os.path.join(env.get("HOME", ""), ".codex")


def set_up(env: Mapping[str, str]) -> str | None:
    """What is still to be done by hand before it can be dispatched; None when nothing is."""
    done = os.path.exists(os.path.join(codex_home(env), "auth.json")) or "model_provider" in user_config(env)
    return None if done else "run `codex` once by hand and sign in"


def user_settings(env: Mapping[str, str], python: str, *, statusline: bool) -> tuple[str, Wanted]:
    """The user's own hooks file, and what fleet wants in it for agents that it did not start."""
    assert not statusline
    launcher = resources.hook_launcher()
    return os.path.join(os.path.abspath(codex_home(env)), "hooks.json"), Wanted(
        engine=NAME,
        hooks={event: tags.hook_command(python, launcher, NAME, event) for event in EVENTS},
        timeouts={event: seconds_of(event) for event in EVENTS},
        python=python,
    )


def _toml(text: object) -> str:
    """A TOML basic string: JSON's escapes, but no surrogate pairs, which TOML does not know."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def user_config(env: Mapping[str, str]) -> dict[str, Any]:
    """The user's config.toml; empty when missing or broken."""
    try:
        with open(os.path.join(codex_home(env), "config.toml"), "rb") as f:
            return tomllib.load(f)
    except (OSError, tomllib.TOMLDecodeError):
        return {}


def trust_folders(cwd: str) -> list[str]:
    """The folders whose trust Codex looks up for *cwd*."""
    real = os.path.realpath(cwd)
    return list(dict.fromkeys([real, os.path.abspath(cwd), *git_roots(real)]))


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


class Codex:
    """The engine."""

    name = NAME
    reports = True
    announces = False

    def plan(self, request: Request) -> Plan:
        """`codex -c … [--model M] [--] PROMPT`."""
        options = request.options
        argv = [native_binary(locate(str(options["binary"]), request.env, "Codex"))]
        trusted = own_user_hooks(request.env, request.hook_argv[0])
        argv += hook_flags({event: hook_command(request, NAME, event) for event in EVENTS}, trusted)
        argv += ["-c", "features.daemon_auto_start=false"]
        config = user_config(request.env)
        roots = _map(config.get("sandbox_workspace_write")).get("writable_roots")
        writable = [*(roots if isinstance(roots, list) else []), request.layout.drafts]
        argv += ["-c", f"sandbox_workspace_write.writable_roots=[{','.join(map(_toml, writable))}]"]
        if request.trust:
            folders = (f'{_toml(folder)}={{trust_level="trusted"}}' for folder in trust_folders(request.cwd))
            argv += ["-c", f"projects={{{','.join(folders)}}}"]
        if request.model:
            argv += ["--model", request.model]
        if options["bypass_permissions"]:
            argv.append("--dangerously-bypass-approvals-and-sandbox")
        argv += [*map(str, options["args"]), *request.command]
        off = _map(config.get("features")).get("hooks") is False
        notes = ["config.toml sets features.hooks to false, so this agent cannot report"] if off else []
        return Plan(argv=argv, prompt_prefix=["--"], hooks=not off, notes=notes)

    def resume(self, conversation_id: str) -> list[str] | None:
        """`resume UUID`: a command of its own, behind the options."""
        return ["resume", conversation_id]

    def obstacles(self, request: Request) -> list[Obstacle]:
        """Folder trust."""
        if request.trust:
            return []
        projects = _map(user_config(request.env).get("projects"))
        if any(_map(projects.get(folder)).get("trust_level") for folder in trust_folders(request.cwd)):
            return []
        return [
            Obstacle(
                f"Codex does not trust {request.cwd} yet",
                "dispatch with --trust, or run `codex` there once and answer its question",
            )
        ]

    def composer(self, lines: list[str]) -> Composer:
        """The last bold glyph at the left edge begins the composer; numbered options mean a dialog."""
        rows = cells(lines)
        text = [plain(row) for row in rows]
        working = any("esc to interrupt" in line for line in text[-14:])
        if any(_CONFIRM.search(line) for line in text[-4:]) and any(_OPTION.match(line) for line in text[-16:]):
            return Composer(Box.DIALOG)
        if any(_SEARCH.match(line) for line in text[-3:]):
            return Composer(Box.UNKNOWN)
        for start in range(len(rows) - 1, -1, -1):
            row = rows[start]
            if not row or row[0].char != GLYPH or row[0].dim or not row[0].bold:
                continue
            if _OPTION.match(text[start]):
                return Composer(Box.DIALOG)
            end = start + 1
            while end < len(rows) and (not text[end].strip() or text[end].startswith("  ")) and end < len(rows) - 2:
                end += 1
            while end > start + 1 and _is_status(text, end):
                end -= 1
            body = typed(rows[start:end], 2)
            return Composer(Box.TEXT if body else Box.EMPTY, body, working)
        return Composer(Box.UNKNOWN, working=working)


def _is_status(text: list[str], end: int) -> bool:
    """Whether the row before *end* is no part of the composer: blank, or the model line beneath it."""
    row = text[end - 1]
    return not row.strip() or (" · " in row and row.startswith("  ") and any(not t.strip() for t in text[:end]))
