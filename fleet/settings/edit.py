"""Edits of JSON text that touch nothing but their own place: each returns the new text, or the same when all is so.

What is added takes the style of its neighbours: their line ends, their indentation, or one line where they stand on
one. Adding and removing the last element are exact inverses. Paths are keys and indexes from the root.
"""

from __future__ import annotations

import json

from fleet.settings.scan import Node, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

DEFAULT_UNIT = "  "


def find(root: Node, path: Sequence[str | int]) -> Node:
    """
    The node at *path*.

    Raises:
        KeyError: there is none.
    """
    node = root
    for step in path:
        found = node.get(step) if isinstance(step, str) else node.items[step]
        if found is None:
            raise KeyError(step)
        node = found
    return node


def add(text: str, path: Sequence[str | int], value: Any, key: str | None = None) -> str:
    """Put *value* at the end of the container at *path*, under *key* when it is an object that lacks it."""
    root = scan(text)
    box = find(root, path)
    name = "" if key is None else _line(text, root, {key: None})[1:-5]
    if box.items:
        at = box.items[-1].end
        comma = text.index(",", box.items[-2].end) if len(box.items) > 1 else box.start
        lead = text[comma + 1 : box.starts[-1]] or (" " if len(box.items) == 1 and _spaced(text, root) else "")
        return text[:at] + "," + lead + name + _render(text, root, value, lead) + text[at:]
    base = _indent(text, box.start)
    if not _many_lines(text, root, box):
        inner = name + _line(text, root, value)
    else:
        lead = _newline(text) + base + _unit(text, root)
        inner = lead + name + _render(text, root, value, lead) + _newline(text) + base
    return text[: box.start + 1] + inner + text[box.end - 1 :]


def replace(text: str, path: Sequence[str | int], value: Any) -> str:
    """Put *value* in the place of the node at *path*."""
    root = scan(text)
    node = find(root, path)
    lead = _newline(text) + _indent(text, node.start)
    new = (
        _render(text, root, value, lead)
        if "\n" in text[node.start : node.end]
        else json.dumps(value, ensure_ascii=False)
    )
    return text[: node.start] + new + text[node.end :]


def remove(text: str, path: Sequence[str | int], gone: Collection[int]) -> str:
    """Take the elements with the indexes *gone* out of the container at *path*."""
    box = find(scan(text), path)
    kept = [i for i in range(len(box.items)) if i not in gone]
    if not kept:
        return text[: box.start + 1] + text[box.end - 1 :]
    parts, at = [text[: box.starts[0]]], box.starts[kept[0]]
    for i in range(kept[0], len(box.items)):
        if i in gone:
            parts.append(text[at : box.items[i - 1].end])
            at = box.items[i].end
    return "".join([*parts, text[at:]])


def _render(text: str, root: Node, value: Any, lead: str) -> str:
    """*value* as it looks behind *lead*: over several lines where its neighbours have lines of their own."""
    if "\n" not in lead:
        return _line(text, root, value)
    base = lead[lead.rindex("\n") + 1 :]
    return json.dumps(value, ensure_ascii=False, indent=_unit(text, root)).replace("\n", _newline(text) + base)


def _line(text: str, root: Node, value: Any) -> str:
    """*value* on one line, with blanks where the file has them."""
    separators = (", ", ": ") if _spaced(text, root) else (",", ":")
    return json.dumps(value, ensure_ascii=False, separators=separators)


def _spaced(text: str, root: Node) -> bool:
    """Whether a blank stands behind the first colon of the file; also where there is none."""
    return not root.keys or text[root.items[0].start - 1] in " \t\r\n"


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of the line of *at*."""
    start = _line_start(text, at)
    end = start
    while end < at and text[end] in " \t":
        end += 1
    return text[start:end]


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _unit(text: str, root: Node) -> str:
    """One step of indentation: that of the root's first member when it has a line of its own."""
    if root.items and "\n" in text[root.start : root.starts[0]]:
        return _indent(text, root.starts[0])[len(_indent(text, root.start)) :]
    return DEFAULT_UNIT


def _many_lines(text: str, root: Node, box: Node) -> bool:
    """Whether what goes into the empty *box* gets lines of its own."""
    return box is root or "\n" in text[root.start : root.end]
