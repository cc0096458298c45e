"""A composer between two rules, as Claude Code (2.1.197) draws it and the fake agent after it.

The composer is what lies between the last two rules; its first line begins with the prompt glyph and U+00A0. A dialog
takes the composer's place: numbered options, and a line that tells the keys.
"""

from __future__ import annotations

import re

from fleet.engines.screen import Box, Composer, cells, plain, typed

_RULE = re.compile(r"^[─━]{10,}")
_OPTION = re.compile(r"^\s*[❯>]?\s*\d+\.\s")
_DIALOG = re.compile(r"Enter to confirm|Esc to cancel|Do you want to|Enter to select", re.IGNORECASE)
GLYPH = "❯"
#: The line above the composer while a turn runs: a spinner, a word, an ellipsis. Afterwards it has no ellipsis.
_SPINNER = re.compile(r"^[·✢✳✶✻✽*∗] .*…")


def ruled_composer(lines: list[str]) -> Composer:
    """The composer, or the dialog in its place."""
    rows = cells(lines)
    text = [plain(row) for row in rows]
    working = any("esc to interrupt" in line for line in text[-6:])
    rules = [i for i, line in enumerate(text) if _RULE.match(line)]
    if len(rules) >= 2 and text[rules[-2] + 1 : rules[-1]]:
        first = text[rules[-2] + 1]
        if first.startswith((GLYPH + "\u00a0", GLYPH)) and not _OPTION.match(first):
            working = working or any(_SPINNER.match(line) for line in text[max(0, rules[-2] - 4) : rules[-2]])
            body = typed(rows[rules[-2] + 1 : rules[-1]], 2)
            return Composer(Box.TEXT if body else Box.EMPTY, body, working)
    bottom = text[-20:]
    if any(_OPTION.match(line) for line in bottom) and any(_DIALOG.search(line) for line in bottom):
        return Composer(Box.DIALOG)
    return Composer(Box.UNKNOWN, working=working)
