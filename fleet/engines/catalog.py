"""Every engine by its name. A new one is a module, a file in config/engines and a line here."""

from __future__ import annotations

from fleet.engines.claude import ClaudeCode
from fleet.engines.codex import Codex
from fleet.engines.command import Command
from fleet.engines.fake import Fake
from fleet.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.engines.base import Engine

_CLAUDE = ClaudeCode()
ENGINES: dict[str, Engine] = {
    "claude-code": _CLAUDE,
    "codex": Codex(),
    "fake": Fake(_CLAUDE.composer),
    "command": Command(),
}
ALIASES = {"claude": "claude-code"}


def engine(name: str) -> Engine:
    """
    The engine of that name or alias.

    Raises:
        UsageError: there is none.
    """
    found = ENGINES.get(ALIASES.get(name, name))
    if found is None:
        raise UsageError(f"unknown engine {name!r}", hint=f"known: {', '.join(sorted({*ENGINES, *ALIASES}))}")
    return found
