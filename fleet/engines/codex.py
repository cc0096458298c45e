"""Codex (measured with 0.171.0).

npm's `codex` is a node wrapper around a native binary in a platform package; a kill -9 of the wrapper leaves the
binary working, so the binary itself is started. Everything fleet needs goes in by `-c` flags of this one process:
hooks with the trust hash that "Trust all and continue" would write, project trust, no app-server daemon (with it,
hooks run with the first client's environment). No file of CODEX_HOME is touched. SessionStart fires with the first
prompt and is no sign of readiness. SIGTERM ends it with status 1 and without SessionEnd.

The composer's glyph is bold and not dim (that of past prompts is dim); its placeholder is dim.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import tomllib

from fleet.engines.base import Obstacle, Plan, git_roots, locate
from fleet.engines.hook_settings import hook_command
from fleet.engines.screen import Box, Composer, cells, plain, typed

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


def hook_flags(commands: Mapping[str, str]) -> list[str]:
    """Flags that give one process its own, trusted hooks."""
    flags: list[str] = []
    state = []
    for event, command in commands.items():
        key = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        seconds = min(TIMEOUT_SECONDS, TIMEOUT_CAPS.get(event, TIMEOUT_SECONDS))
        identity = {
            "event_name": key,
            "hooks": [{"async": False, "command": command, "timeout": seconds, "type": "command"}],
        }
        exact = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(exact.encode()).hexdigest()
        name = _toml(f"/<session-flags>/config.toml:{key}:0:0")
        state.append(f'{name}={{trusted_hash="sha256:{digest}"}}')
        entry = f'[{{hooks=[{{type="command",command={_toml(command)},timeout={seconds}}}]}}]'
        flags += ["-c", f"hooks.{event}={entry}"]
    return [*flags, "-c", f"hooks.state={{{','.join(state)}}}"]


def _toml(text: object) -> str:
    """A TOML basic string: JSON's escapes, but no surrogate pairs, which TOML does not know."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def user_config(env: Mapping[str, str]) -> dict[str, Any]:
    """The user's config.toml; empty when missing or broken."""
    home = env.get("CODEX_HOME") or os.path.join(env.get("HOME", ""), ".codex")
    try:
        with open(os.path.join(home, "config.toml"), "rb") as f:
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

    def plan(self, request: Request) -> Plan:
        """`codex -c … [--model M] [--] PROMPT`."""
        options = request.options
        argv = [native_binary(locate(str(options["binary"]), request.env, "Codex"))]
        argv += hook_flags({event: hook_command(request, NAME, event) for event in EVENTS})
        argv += ["-c", "features.daemon_auto_start=false"]
        config = user_config(request.env)
        roots = _map(config.get("sandbox_workspace_write")).get("writable_roots")
        writable = [*(roots if isinstance(roots, list) else []), request.layout.drafts]
        argv += ["-c", f"sandbox_workspace_write.writable_roots=[{','.join(map(_toml, writable))}]"]
        if request.trust:
            for folder in trust_folders(request.cwd):
                argv += ["-c", f'projects.{_toml(folder)}.trust_level="trusted"']
        if request.model:
            argv += ["--model", request.model]
        if options["bypass_permissions"]:
            argv.append("--dangerously-bypass-approvals-and-sandbox")
        argv += [*map(str, options["args"]), *request.command]
        off = _map(config.get("features")).get("hooks") is False
        notes = ["config.toml sets features.hooks to false, so this agent cannot report"] if off else []
        return Plan(argv=argv, prompt_prefix=["--"], hooks=not off, notes=notes)

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
