"""Where the files that travel with fleet lie: `config`, `hooks`, `skills`.

In a checkout they are beside the package, in an installed wheel under `fleet/_data`.
"""

from __future__ import annotations

import os

PACKAGE = os.path.dirname(os.path.abspath(__file__))


def folder(name: str) -> str:
    """The absolute path of one of the travelling folders."""
    packed = os.path.join(PACKAGE, "_data", name)
    return packed if os.path.isdir(packed) else os.path.join(os.path.dirname(PACKAGE), name)


def config_file(*parts: str) -> str:
    """A file under `config`."""
    return os.path.join(folder("config"), *parts)


def hook_launcher() -> str:
    """What engines run at their events."""
    return os.path.join(folder("hooks"), "on_event.py")


def status_launcher() -> str:
    """What Claude Code runs for its status line."""
    return os.path.join(folder("hooks"), "status_line.py")


def opencode_plugin() -> str:
    """What opencode loads."""
    return os.path.join(folder("hooks"), "opencode_plugin.js")


def skills() -> str:
    """The skills that dispatched agents get: a plugin of Claude Code's."""
    return folder("skills")


def supervision() -> str:
    """The skill of an agent that supervises others: a plugin of its own."""
    return os.path.join(folder("skills"), "fleet-supervision")


def gate() -> str:
    """What tmux runs in an agent's pane."""
    return os.path.join(folder("hooks"), "gate.py")
