"""The account that an engine works with, as a fingerprint of where its login lies and of the keys in its environment.

Of a key only a hash of its last characters goes in, and of the whole only a hash comes out: no secret can be read
from it.
"""

from __future__ import annotations

import os

from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LAST_CHARACTERS = 20  #: of a key; by these Claude Code (2.1.197) itself tells keys apart


class _Place(NamedTuple):
    """Where an engine has its credential from."""

    home: str  #: the variable that names its folder
    folder: str  #: below HOME without it
    variables: tuple[str, ...]  #: keys, and whom they are for


_PLACES = {
    "claude-code": _Place("CLAUDE_CONFIG_DIR", ".claude", (
        "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "AWS_PROFILE", "AWS_ACCESS_KEY_ID",
        "ANTHROPIC_VERTEX_PROJECT_ID",
    )),
    "codex": _Place("CODEX_HOME", ".codex", ("OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL")),
    "gemini": _Place("GEMINI_CLI_HOME", ".gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT")),
    "opencode": _Place("XDG_DATA_HOME", ".local/share", (
        "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY",
    )),
    "fake": _Place("FAKE_AGENT_HOME", ".fake-agent", ("ANTHROPIC_API_KEY",)),
}  # fmt: skip


def account_of(engine: str, env: Mapping[str, str]) -> str | None:
    """
    Twelve hex digits for the credential that *engine* finds in *env*; None for an engine that has none.

    Args:
        engine: its canonical name.
    """
    place = _PLACES.get(engine)
    if place is None:
        return None
    folder = env.get(place.home) or os.path.join(env.get("HOME", ""), place.folder)
    parts = [os.path.realpath(folder)]
    for name in place.variables:
        value = env.get(name, "")
        parts.append(f"{name}={_hashed(value[-LAST_CHARACTERS:]) if value else ''}")
    return _hashed("\0".join(parts))[:12]


def _hashed(text: str) -> str:
    import hashlib  # noqa: PLC0415  # 6 ms, which nobody pays for an engine without an account

    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
