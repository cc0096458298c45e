"""The commands that fleet puts into the user's own settings, and how they are known again after fleet has moved.

An entry is ours when its command ends with `…/hooks/on_event.py ENGINE EVENT user`, a status line when it holds
`…/hooks/status_line.py ENGINE user --`, wherever that file lies and whichever interpreter stands before it.

A hook whose file is gone must do nothing at all: Claude Code 2.1.197 takes exit status 2 for "block", which is what an
interpreter answers that cannot find its script. So sh looks first; it also spares sessions that fleet does not know
the interpreter. `/bin/sh -c` is written out because Codex runs hooks in the user's shell, which may be fish.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

MARK = "user"
HOOK_TAIL = os.path.join("hooks", "on_event.py")
STATUS_TAIL = os.path.join("hooks", "status_line.py")
_IF_OURS = '[ -n "$FLEET_AGENT_ID" ] && [ -x "$0" ] && [ -f "$1" ]'
HOOK_SCRIPT = f'if {_IF_OURS}; then exec "$0" -I -S "$@"; fi'
STATUS_SCRIPT = f'if {_IF_OURS}; then exec "$0" -I -S "$@"; fi; [ $# -lt 5 ] || exec /bin/sh -c "$5"'


@dataclass(frozen=True, slots=True)
class Ours:
    """A command of ours, taken apart."""

    python: str
    launcher: str
    wrapped: str | None = None  #: the user's own status line command within


def hook_command(python: str, launcher: str, engine: str, event: str) -> str:
    """The command of one user-level hook."""
    return shlex.join(["/bin/sh", "-c", HOOK_SCRIPT, python, launcher, engine, event, MARK])


def status_command(python: str, launcher: str, engine: str, wrapped: str | None) -> str:
    """The command of a user-level status line, around the user's own if there is one."""
    own = ["--", wrapped] if wrapped is not None else []
    return shlex.join(["/bin/sh", "-c", STATUS_SCRIPT, python, launcher, engine, MARK, *own])


def read_hook(command: object, engine: str, event: str) -> Ours | None:
    """What *command* is, or None when it is no hook of ours for that event."""
    words = _words(command)
    if len(words) < 5 or words[-3:] != [engine, event, MARK] or not _ends(words[-4], HOOK_TAIL):
        return None
    return Ours(words[-5], words[-4])


def read_status(command: object, engine: str) -> Ours | None:
    """What *command* is, or None when it is no status line of ours."""
    words = _words(command)
    for at in range(1, len(words) - 2):
        if _ends(words[at], STATUS_TAIL) and words[at + 1 : at + 3] == [engine, MARK]:
            rest = words[at + 3 :]
            if not rest or (len(rest) == 2 and rest[0] == "--"):
                return Ours(words[at - 1], words[at], rest[1] if rest else None)
    return None


def _words(command: object) -> list[str]:
    if not isinstance(command, str):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _ends(path: str, tail: str) -> bool:
    return path.endswith(os.sep + tail)
