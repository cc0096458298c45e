"""The context figure that Claude Code gives its status line, kept as `run/<id>.context.json` beside the hook's own.

Measured with 2.1.197: the status line's program gets the last answer's tokens and the exact window about 0.3 s after
each answer; its `prompt_id` is that of the current prompt, also while the figure is still the one of the turn before;
after /compact it is called with the old figure until the next answer; before a conversation's first answer it is null.
So a figure counts by the time it was given against the time of the last answer in the transcript, and after a
compaction or /clear it is void until the transcript shows a newer answer. The window outlives its figure.

Written under the record lock, by the status line's program and by the hook of the event that voids it.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats import usage
from fleet.formats.atomic import encode, read_object, write_file
from fleet.formats.times import rfc3339_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout
    from fleet.hooks.payload import Payload

SOURCE = "statusline"
TOKENS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def from_payload(call: Payload, wall: float) -> dict[str, Any] | None:
    """The figure in what the status line's program is told; None when there is none yet."""
    context = call.data.get("context_window")
    used = context.get("current_usage") if isinstance(context, dict) else None
    if not isinstance(context, dict) or not isinstance(used, dict):
        return None
    tokens = sum(_count(used.get(name)) for name in TOKENS)
    window, model = _count(context.get("context_window_size")), call.data.get("model")
    if not tokens or not window:
        return None
    name = model.get("id") if isinstance(model, dict) else None
    return {
        "session_id": call.text("session_id"), "prompt_id": call.turn_id, "tokens": tokens, "window": window,
        "model": name if isinstance(name, str) else None, "at": rfc3339_ms(wall), "void": False,
    }  # fmt: skip


def read(layout: Layout, agent_id: str) -> dict[str, Any] | None:
    """The figure that is kept, or None."""
    path = layout.figure(agent_id)
    if not os.path.exists(path):
        return None
    try:
        data = read_object(path)
    except (FileNotFoundError, BadFile):
        return None
    sound = _count(data.get("tokens")) and _count(data.get("window")) and isinstance(data.get("at"), str)
    return data if sound or data.get("void") is True else None


def write(layout: Layout, agent_id: str, figure: dict[str, Any]) -> None:
    """Keep a figure."""
    write_file(layout.figure(agent_id), encode(figure), sync=False)


def void(layout: Layout, call: Payload, agent_id: str, wall: float) -> None:
    """No figure counts any more but one of an answer that is still to come."""
    old = read(layout, agent_id) or {}
    write(layout, agent_id, {**old, "session_id": call.text("session_id"), "at": rfc3339_ms(wall), "void": True})


def counts(old: dict[str, Any] | None, new: dict[str, Any], engine: str, log: str) -> bool:
    """Whether the figure *new* may take the place of *old*: not when it tells of what was compacted or cleared away."""
    if old is None or old.get("void") is not True:
        return True
    if old.get("session_id") != new["session_id"]:
        return False
    answer = usage.read(engine, log, {})
    return answer is not None and (answer.at is None or answer.at > str(old.get("at")))


def outrank(fill: usage.Usage | None, figure: dict[str, Any] | None, call: Payload) -> tuple[usage.Usage | None, str]:
    """What the context holds and who says so: the status line when its figure is no older than the transcript's."""
    if figure is None or not _count(figure.get("window")) or figure.get("session_id") != call.text("session_id"):
        return fill, "hook"
    window = int(figure["window"])
    same_turn = figure.get("prompt_id") == call.turn_id
    if figure.get("void") is not True:
        if fill is None:
            fresh = same_turn
        elif fill.at is not None:
            fresh = figure["at"] >= fill.at
        else:
            fresh = same_turn and figure["tokens"] >= fill.tokens
        if fresh:
            return usage.Usage(int(figure["tokens"]), figure.get("model"), window), SOURCE
    if fill is not None and (fill.window is None or _same_model(fill.model, figure.get("model"))):
        fill = usage.Usage(fill.tokens, fill.model, window, fill.at)
    return fill, "hook"


def _same_model(spoken: str | None, shown: object) -> bool:
    """Whether the transcript's model, which has no `[1m]` but may have a date, is the status line's."""
    return spoken is not None and isinstance(shown, str) and spoken.startswith(shown.partition("[")[0])


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
