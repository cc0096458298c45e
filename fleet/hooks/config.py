"""The hook's configuration: compiled to JSON by fleet at dispatch, so that a hook parses no YAML.

`FLEET_HOOK_CONFIG` names the file. What is missing, unreadable or of the wrong type has the default below.
"""

from __future__ import annotations

from fleet.errors import BadFile
from fleet.formats.atomic import read_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULTS: dict[str, Any] = {
    "windows": {},  #: model name to context window in tokens
    "yellow_pct": 50.0,
    "red_pct": 70.0,
    "yellow_tokens": None,  #: None: only the percentage counts
    "red_tokens": None,
    "rerequest_seconds": 1800,
    "stop_blocks_in_a_row": 3,  #: per reason, without a tool call or a prompt between
    "inline_characters": 9000,  #: longer bodies are injected as a reference to a file
    "approval_hold_seconds": 0,  #: how long a permission question of Claude Code is held; 0: not at all
    "max_event_bytes": 4 * 1024 * 1024,
    "kick_seconds": 30,  #: the least time between two starts of a drain by hooks
    "drain_argv": [],
    "drain_env": {},
}


def load(path: str | None) -> dict[str, Any]:
    """The configuration at *path* over the defaults."""
    config = dict(DEFAULTS)
    if path:
        try:
            data = read_object(path)
        except (FileNotFoundError, BadFile):
            return config
        for name, default in DEFAULTS.items():
            value = data.get(name, default)
            optional = default is None and (value is None or isinstance(value, (int, float)))
            number = isinstance(default, (int, float)) and isinstance(value, (int, float))
            if optional or number or type(value) is type(default):
                config[name] = value
    return config
