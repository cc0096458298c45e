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


def gate() -> str:
    """What tmux runs in an agent's pane."""
    return os.path.join(PACKAGE, "gate.py")
