"""The text of a status line: counts put into the user's words, no wider than allowed. Standard library.

tmux (3.3a, 3.5a, 3.8) expands what `#(…)` printed once more, without running commands: `#[…]` styles it, `#{…}` would
be looked up, so every `#` that is data is doubled. Words and format come from the operator's settings.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

#: Each piece and the count it shows.
PIECES = {"waiting": "for_you", "working": "working", "idle": "idle", "over": "over", "dead": "dead", "stale": "stale"}
DEFAULT_THEME: dict[str, Any] = {
    "format": "{waiting}{working}{over}{dead}{stale}",
    "waiting": "#[fg=yellow,bold]{n} waiting#[default] ",
    "working": "{n} working ",
    "idle": "{n} idle ",
    "over": "#[fg=red]{n} over#[default] ",
    "dead": "#[fg=red,bold]{n} given up#[default] ",
    "stale": "~ ",
    "nothing": "",
    "width": 60,
}


def unknown_names(text: str, known: Container[str]) -> list[str]:
    """The names in braces that mean nothing."""
    found = [part.partition("}")[0] for part in text.replace("#{", "").split("{")[1:] if "}" in part]
    return [name for name in found if name not in known]


def render(counts: dict[str, Any], theme: dict[str, Any]) -> str:
    """
    One line for tmux.

    Args:
        counts: as `status.counts` gives them. A piece whose count is 0 is left out.
        theme: as DEFAULT_THEME; what is missing there has the default.
    """
    words = {**DEFAULT_THEME, **{k: v for k, v in theme.items() if type(v) is type(DEFAULT_THEME.get(k))}}
    if not counts["agents"] and not counts["dead"]:
        return cut(words["nothing"], words["width"])
    text = words["format"]
    for name, counted in PIECES.items():
        piece = words[name] if counts[counted] else ""
        piece = piece.replace("{n}", str(int(counts[counted]))).replace("{next}", plain(counts["next"]))
        text = text.replace("{" + name + "}", piece)
    return cut(text.rstrip(), words["width"])


def plain(text: str) -> str:
    """*text* as tmux shows it and does not interpret it."""
    return "".join(c if c.isprintable() else "?" for c in text).replace("#", "##").replace("{", "(").replace("}", ")")


def cut(text: str, width: int) -> str:
    """*text* on one line with at most *width* columns; styles take none, and one left open is closed."""
    kept, used, at, styled = [], 0, 0, False
    text = " ".join(text.split("\n"))
    while at < len(text):
        end = text.find("]", at) + 1 if text.startswith("#[", at) else 0
        if end:
            kept.append(text[at:end])
            styled = text[at:end] != "#[default]"
            at = end
            continue
        step = 2 if text.startswith("##", at) else 1
        used += columns(text[at])
        if used > width:
            break
        kept.append(text[at : at + step] if text[at].isprintable() else "?")
        at += step
    return "".join(kept) + ("#[default]" if styled else "")


def columns(character: str) -> int:
    """How many columns a character takes."""
    if character.isascii():
        return 1
    import unicodedata  # noqa: PLC0415  # 1 ms, paid only for words beyond ASCII

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
