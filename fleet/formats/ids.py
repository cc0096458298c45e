"""Identities and names: what may become part of a path, a session name or a record.

Agent and dispatch ids are 8 lower-case hex digits; an agent's tmux session is `fleet-<id>`, so that neither
tmux's rewriting of `.` and `:` nor its prefix matching of targets can ever meet a name of ours.
"""

from __future__ import annotations

import os

from fleet.errors import UsageError

SESSION_PREFIX = "fleet-"

_HEX = frozenset("0123456789abcdef")
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_REST = _FIRST | frozenset(".-")
LONGEST_NAME = 64
_RESERVED = frozenset({"archive", "default-", "queue", "all"})


def new_id() -> str:
    """Eight random lower-case hex digits."""
    return os.urandom(4).hex()


def new_uuid() -> str:
    """A random UUID (RFC 9562, version 4). Importing `uuid` costs a start 4 ms."""
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def is_id(text: object) -> bool:
    """Whether *text* has the form of an agent or dispatch id."""
    return isinstance(text, str) and len(text) == 8 and _HEX.issuperset(text)


def session_name(agent_id: str) -> str:
    """The pre-allocated tmux session name of an agent."""
    return SESSION_PREFIX + agent_id


def id_of_session(name: str) -> str | None:
    """The agent id in a session name of ours, or None for any other session."""
    rest = name.removeprefix(SESSION_PREFIX)
    return rest if rest != name and is_id(rest) else None


def is_slug(text: object) -> bool:
    """Whether *text* may name a project or a task (nothing that a path, a flag or a lock name could misread)."""
    return (
        isinstance(text, str)
        and 0 < len(text) <= LONGEST_NAME
        and text[0] in _FIRST
        and _REST.issuperset(text)
        and text not in _RESERVED
        and any(c.isalnum() for c in text)
    )


def check_slug(kind: str, text: str) -> str:
    """
    Return *text* when it may name a task or a project.

    Raises:
        UsageError: it may not; the message says what may.
    """
    if not is_slug(text):
        raise UsageError(
            f"{text!r} cannot be a {kind} name",
            hint="use lower-case letters, digits, '-', '_' and '.', at most 64, not beginning with '-' or '.'",
        )
    if is_id(text):
        raise UsageError(
            f"{text!r} cannot be a {kind} name: it looks like an agent id",
            hint="ids outrank names, so a name of 8 hex digits could never be addressed",
        )
    return text
