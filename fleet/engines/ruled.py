"""A composer between two rules, as Claude Code (2.1.197) draws it and the fake agent after it.

The composer is what lies between the last two rules; its first line begins with the prompt glyph and U+00A0. A dialog
takes the composer's place: numbered options, and a line that tells the keys. Above one there is no composer, only what
is left of an earlier frame.
"""

from __future__ import annotations

import re

from fleet.engines.dialog import has_marked
from fleet.engines.screen import Box, Composer, cells, plain, typed

_RULE = re.compile(r"^[─━]{10,}")
_OPTION = re.compile(r"^\s*[❯>]?\s*\d+\.\s")
_DIALOG = re.compile(r"Enter to confirm|Esc to cancel|Do you want to|Enter to select", re.IGNORECASE)
GLYPH = "❯"
BASH_GLYPH = "!"  #: a shell command is typed: nothing of ours may go there, however little stands there yet
#: Beneath the composer while a person looks for an earlier prompt: what is pasted would be looked for.
_SEARCH = re.compile(r"^ *(?:search prompts|no matching prompt):")
#: The line above the composer while a turn runs: a spinner, a word, an ellipsis. Afterwards it has no ellipsis.
_SPINNER = re.compile(r"^[·✢✳✶✻✽*∗] .*…")

#: Claude Code shows its tasks between the spinner and the composer, and with a status line no "esc to interrupt".
LONGEST_TASK_LIST = 24


def ruled_composer(lines: list[str]) -> Composer:
    """The composer, or the dialog in its place."""
    rows = cells(lines)
    text = [plain(row) for row in rows]
    working = any("esc to interrupt" in line for line in text[-6:])
    rules = [i for i, line in enumerate(text) if _RULE.match(line)]
    if len(rules) >= 2 and text[rules[-2] + 1 : rules[-1]] and not has_marked(text[rules[-1] + 1 :]):
        first = text[rules[-2] + 1]
        if any(_SEARCH.match(line) for line in text[rules[-1] + 1 :]):
            return Composer(Box.UNKNOWN)
        if first.startswith((GLYPH, BASH_GLYPH)) and not _OPTION.match(first):
            working = working or _spins(text[max(0, rules[-2] - LONGEST_TASK_LIST) : rules[-2]])
            body = typed(rows[rules[-2] + 1 : rules[-1]], 2)
            if first.startswith(BASH_GLYPH):
                body = BASH_GLYPH + body
            return Composer(Box.TEXT if body else Box.EMPTY, body, working)
    bottom = text[-20:]
    if any(_OPTION.match(line) for line in bottom) and any(_DIALOG.search(line) for line in bottom):
        return Composer(Box.DIALOG)
    return Composer(Box.UNKNOWN, working=working)


def _spins(above: list[str]) -> bool:
    """Whether the last line above the composer that is not indented is a spinner that still turns."""
    standing = (line for line in reversed(above) if line.strip() and not line.startswith(" "))
    return _SPINNER.match(next(standing, "")) is not None
