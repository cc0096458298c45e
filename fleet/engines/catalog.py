"""Every engine by its name. A new one is a module, a file in config/engines and a line here.

Only the module of the engine that is asked for is imported.
"""

from __future__ import annotations

import importlib

from fleet.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.engines.base import Engine

#: name: module and class
ENGINES = {
    "claude-code": ("fleet.engines.claude", "ClaudeCode"),
    "codex": ("fleet.engines.codex", "Codex"),
    "opencode": ("fleet.engines.opencode", "Opencode"),
    "gemini": ("fleet.engines.gemini", "Gemini"),
    "fake": ("fleet.engines.fake", "Fake"),
    "command": ("fleet.engines.command", "Command"),
}
ALIASES = {"claude": "claude-code"}

_made: dict[str, Engine] = {}


def canonical(name: str) -> str:
    """
    The engine's name behind a name or an alias.

    Raises:
        UsageError: there is none.
    """
    full = ALIASES.get(name, name)
    if full not in ENGINES:
        raise UsageError(f"unknown engine {name!r}", hint=f"known: {', '.join(sorted({*ENGINES, *ALIASES}))}")
    return full


def engine(name: str) -> Engine:
    """
    The engine of that name or alias.

    Raises:
        UsageError: there is none.
    """
    full = canonical(name)
    if full not in _made:
        module, class_name = ENGINES[full]
        made: Engine = getattr(importlib.import_module(module), class_name)()
        _made[full] = made
    return _made[full]
