"""
Settings files: which hooks run, and which tools need no question.

Two files count: the user's own (`settings.json` in the home) and the one given with `--settings`. Their
hooks run beside each other; `disableAllHooks` of the given file outranks the user's, in both directions
(seen on 2.1.197). Keys that mean nothing here are ignored, because real settings files are full of
them.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple

from fleet.fakeagent.errors import BadScript

HOOK_TIMEOUT_SECONDS = 600.0


class Hook(NamedTuple):
    """One command for one event."""

    command: str
    timeout_seconds: float
    matcher: str  #: A pattern for what the event is about (a tool, a source, a reason); "" and "*" take all.

    def concerns(self, subject: str) -> bool:
        """Whether the hook wants this occurrence."""
        if self.matcher in ("", "*"):
            return True
        try:
            return re.fullmatch(self.matcher, subject) is not None
        except re.error:
            return self.matcher == subject


class Settings(NamedTuple):
    """Both files together."""

    hooks: dict[str, list[Hook]]
    allow: list[str]

    def hooks_for(self, event: str, subject: str) -> list[Hook]:
        """The hooks of *event*; the same command is run once, however often it is registered."""
        wanted = [hook for hook in self.hooks.get(event, []) if hook.concerns(subject)]
        return list({hook.command: hook for hook in wanted}.values())


def load(home: str, given: str | None) -> Settings:
    """
    Read the user's settings and those *given* on the command line, a path or a JSON object.

    Raises:
        BadScript: The given file is missing, or one of the two is not settings.
    """
    files = [_read(os.path.join(home, "settings.json"), optional=True)]
    if given is not None:
        files.append(_inline(given) if given.lstrip().startswith("{") else _read(given, optional=False))
    disabled = [value["disableAllHooks"] for value in files if "disableAllHooks" in value]
    hooks: dict[str, list[Hook]] = {}
    allow: list[str] = []
    for value in files:
        allow += [entry for entry in value.get("permissions", {}).get("allow", []) if isinstance(entry, str)]
        for event, groups in value.get("hooks", {}).items() if not (disabled and disabled[-1]) else ():
            hooks.setdefault(event, []).extend(_hooks(event, groups))
    return Settings(hooks, allow)


def _read(path: str, *, optional: bool) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return _object(json.load(file), path)
    except FileNotFoundError:
        if optional:
            return {}
        raise BadScript(f"{path}: settings file not found") from None
    except OSError as error:
        raise BadScript(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise BadScript(f"{path}: not JSON: {error}") from None


def _inline(text: str) -> dict[str, Any]:
    try:
        return _object(json.loads(text), "--settings")
    except ValueError as error:
        raise BadScript(f"--settings: not JSON: {error}") from None


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadScript(f"{place}: expected an object")
    for name in ("hooks", "permissions"):
        if not isinstance(value.get(name, {}), dict):
            raise BadScript(f"{place}: {name}: expected an object")
    return value


def _hooks(event: str, groups: object) -> list[Hook]:
    try:
        if not isinstance(groups, list):
            raise TypeError
        return [
            Hook(entry["command"], float(entry.get("timeout", HOOK_TIMEOUT_SECONDS)), group.get("matcher", ""))
            for group in groups
            for entry in group["hooks"]
            if entry.get("type", "command") == "command"
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BadScript(f"hooks: {event}: expected a list of {{'matcher', 'hooks': [{{'command'}}]}}") from None
