"""Telling a slash command from a prompt: one line, a slash, a name; a path that exists is a prompt."""

from __future__ import annotations

import os


def split(text: str) -> tuple[str, str] | None:
    """Name and arguments of a slash command; None when *text* is a prompt."""
    name, _, arguments = text.partition(" ")
    if not name.startswith("/") or "\n" in text or not name[1:].replace("-", "").isalnum():
        return None
    if os.path.exists(name):
        return None
    return name[1:], arguments.strip()
