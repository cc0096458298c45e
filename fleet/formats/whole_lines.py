"""A long text cut at the end of a line, so that no name and no sentence is cut in two."""

from __future__ import annotations


def cut(text: str, characters: int) -> tuple[str, int, int]:
    """
    The first lines of *text*, of at most *characters*.

    A first line that alone is longer is cut behind a blank, else anywhere: something is better than nothing.

    Returns:
        What is kept, and how many lines (a line cut in two counts) and characters of *text* were left out.
    """
    if len(text) <= characters:
        return text, 0, 0
    at = text.rfind("\n", 0, characters + 1)
    if at <= 0:
        blank = text.rfind(" ", 0, characters + 1)
        at = blank if blank > 0 else characters
    kept, left = text[:at], text[at:]
    return kept, left.count("\n") + (not left.startswith("\n")), len(left.lstrip("\n"))
