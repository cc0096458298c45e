"""
Colours and glyphs of Claude Code 2.1.197 on a 256-colour terminal, as `capture-pane -e` shows them.

A reader of the screen can tell the composer from the conversation by these: the prompt glyph of the
composer is followed by U+00A0, that of a sent prompt by a blank on a grey ground; a placeholder is dim
(SGR 2), typed text is not.
"""

PROMPT = "❯"
NO_BREAK = "\u00a0"
SPINNER_GLYPHS = "·✢✳✶✻✽"
TITLE_IDLE = "✳"
TITLE_BUSY = "⠂⠐"


def tone(colour: int, text: str) -> str:
    """*text* in one of the 256 colours."""
    return f"\x1b[38;5;{colour}m{text}\x1b[39m"


def grey(text: str) -> str:
    """Hints, footers, results."""
    return tone(246, text)


def accent(text: str) -> str:
    """The chosen row of a dialog."""
    return tone(153, text)


def warning(text: str) -> str:
    """What a hook refused."""
    return tone(220, text)


def bold(text: str) -> str:
    """Names of tools, headings."""
    return f"\x1b[1m{text}\x1b[22m"


def dim(text: str) -> str:
    """Placeholders, last words."""
    return f"\x1b[2m{text}\x1b[22m"


def reverse(text: str) -> str:
    """The drawn cursor."""
    return f"\x1b[7m{text}\x1b[27m"


def rule(columns: int, colour: int = 244, glyph: str = "─") -> str:
    """A line across the screen."""
    return tone(colour, glyph * columns)
