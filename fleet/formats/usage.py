"""How full a context is, read from the end of an engine's own log, so that the cost does not grow with it.

Claude Code 2.1.197 writes one `assistant` line per tool call with the same usage; subagents have files of their
own, older versions mark them isSidechain; API errors are lines of the model `<synthetic>` with zero usage. Output
tokens do not count: they are part of the next request's input. After a `compact_boundary` nothing is known until the
next answer. Codex 0.171.0 writes `token_count` events with the last request's usage and the model's window.
"""

from __future__ import annotations

from fleet.formats.events import json_object, lines_from_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LOOK_BACK_BYTES = 8 * 1024 * 1024
LENGTH_OF_STAMP = 24  #: `2026-11-30T13:00:00.000Z`: of this form, later ones sort after earlier ones
#: What Gemini CLI 0.61.0 itself takes for every model of that name, whatever its version.
GEMINI_WINDOW = 1_048_576
_MAKERS = ("anthropic", "openai", "google")
_UNITS = {"m": 1_000_000, "k": 1_000}


class Usage:
    """The last known fill of a context."""

    __slots__ = ("at", "model", "tokens", "window")

    def __init__(self, tokens: int, model: str | None, window: int | None, at: str | None = None) -> None:
        self.tokens = tokens
        self.model = model
        self.window = window
        self.at = at  #: when the log says it was measured, RFC 3339 UTC with milliseconds

    @property
    def percent(self) -> float | None:
        """Tokens of the window in percent, two decimals; None when the window is not known."""
        return round(self.tokens * 100 / self.window, 2) if self.window else None


def window_of(model: str | None, windows: Mapping[str, int]) -> int | None:
    """
    The context window of *model* in tokens, or None for an unknown one: never a guess.

    A suffix `[1m]` or `[200k]` names the window itself; a date, a version and a cloud prefix are dropped.
    """
    if not model:
        return None
    if model in windows:
        return windows[model]
    count, unit = model.rpartition("[")[2][:-2], model[-2:-1]
    if model.endswith("]") and count.isdecimal() and unit in _UNITS:
        return int(count) * _UNITS[unit]
    return windows.get(_plain(model))


def _plain(model: str) -> str:
    """`eu.anthropic.claude-x-20250929-v1:0` as `claude-x`. No regular expressions: a hook would load them for this."""
    for maker in _MAKERS:
        region, found, rest = model.partition(maker)
        if found and rest[:1] in (".", "/") and (not region or region.endswith(".")) and region.count(".") < 2:
            model = rest[1:]
            break
    for mark in (":", "-v"):
        head, found, number = model.rpartition(mark)
        if found and number.isdecimal():
            model = head
    for mark in ("-", "@"):
        head, found, date = model.rpartition(mark)
        if found and (date == "latest" or (len(date) == 8 and date.startswith("20") and date.isdecimal())):
            return head
    return model


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    total = 0
    for name in names:
        value = usage.get(name) or 0
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        total += value
    return total


def claude(path: str, windows: Mapping[str, int]) -> Usage | None:
    """The last main-chain usage in a Claude Code transcript; None when there is none (yet, or since compaction)."""
    for raw in lines_from_end(path, LOOK_BACK_BYTES):
        if b'"usage"' not in raw and b"compact_boundary" not in raw:
            continue
        data = json_object(raw)
        if data is None or data.get("isSidechain") is True:
            continue
        if data.get("type") == "system" and data.get("subtype") == "compact_boundary":
            return None
        message = data.get("message")
        if data.get("type") != "assistant" or not isinstance(message, dict):
            continue
        model = message.get("model")
        usage = message.get("usage")
        if model == "<synthetic>" or not isinstance(usage, dict):
            continue
        tokens = _count(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        if tokens:
            name = model if isinstance(model, str) else None
            at = data.get("timestamp")
            stamped = isinstance(at, str) and len(at) == LENGTH_OF_STAMP and at.endswith("Z")
            return Usage(tokens, name, window_of(name, windows), at if stamped else None)
    return None


def codex(path: str, windows: Mapping[str, int]) -> Usage | None:
    """The last request's usage in a Codex rollout, over the window that Codex itself names there."""
    for raw in lines_from_end(path, LOOK_BACK_BYTES):
        if b"token_count" not in raw and b'"compacted"' not in raw:
            continue
        data = json_object(raw)
        if data is None:
            continue
        if data.get("type") == "compacted":
            return None
        payload = data.get("payload")
        if not isinstance(payload, dict) or payload.get("type") != "token_count":
            continue
        info = payload.get("info")
        last = info.get("last_token_usage") if isinstance(info, dict) else None
        if not isinstance(info, dict) or not isinstance(last, dict):
            continue
        tokens = _count(last, "input_tokens")
        if tokens:
            named = windows.get("codex")
            window = info.get("model_context_window")
            usable = isinstance(window, int) and not isinstance(window, bool) and window > 0
            return Usage(tokens, None, named or (window if usable else None))
    return None


def gemini(path: str, windows: Mapping[str, int]) -> Usage | None:
    """The last answer's prompt tokens in a Gemini CLI log; None after a `$rewindTo` or before the first answer."""
    for raw in lines_from_end(path, LOOK_BACK_BYTES):
        if b'"tokens"' not in raw:
            continue
        data = json_object(raw)
        tokens = data.get("tokens") if data and data.get("type") == "gemini" else None
        if data is None or not isinstance(tokens, dict):
            continue
        count = _count(tokens, "input")
        if count:
            model = data.get("model")
            name = model if isinstance(model, str) else None
            own = GEMINI_WINDOW if name is not None and name.startswith("gemini-") else None
            return Usage(count, name, window_of(name, windows) or own)
    return None


def opencode(path: str, windows: Mapping[str, int]) -> Usage | None:
    """The last answer's tokens in the log that our plugin writes for opencode, over the window that opencode names."""
    for raw in lines_from_end(path, LOOK_BACK_BYTES):
        if b'"tokens"' not in raw and b'"compacted"' not in raw:
            continue
        data = json_object(raw)
        if data is None:
            continue
        if data.get("kind") == "compacted":
            return None
        count, window, model = data.get("tokens"), data.get("window"), data.get("model")
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            name = model if isinstance(model, str) else None
            named = window_of(name, windows)
            usable = isinstance(window, int) and not isinstance(window, bool) and window > 0
            return Usage(count, name, named or (window if usable else None))
    return None


READERS = {"claude-code": claude, "fake": claude, "codex": codex, "gemini": gemini, "opencode": opencode}


def read(engine: str, path: object, windows: Mapping[str, int]) -> Usage | None:
    """The usage in the log of *engine*, or None when there is none to be had."""
    reader = READERS.get(engine)
    return reader(path, windows) if reader and isinstance(path, str) and path else None
