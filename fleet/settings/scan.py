"""JSON as text with places: a tree whose every node knows where it begins and ends.

Strict where a guess could harm: comments, trailing commas, duplicate keys, NaN, raw control characters and a nesting
deeper than MAX_DEPTH are refused with line and column. White space is whatever JSON allows, however odd. Claude Code
2.1.197 and Codex 0.171.0 both write plain JSON and both keep the last of two equal keys, so that an edit of the first
would have no effect: hence the refusal.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

MAX_DEPTH = 200
BOM = "\ufeff"
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")
_NAMES = {"{": "object", "[": "array"}


class Malformed(ValueError):
    """The text is no JSON that can be edited; `line` and `column` count from 1."""

    def __init__(self, text: str, at: int, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = text.count("\n", 0, at) + 1
        self.column = at - (text.rfind("\n", 0, at) + 1) + 1


@dataclass(slots=True)
class Node:
    """One value in the text, from `start` up to, but without, `end`."""

    kind: str  #: object, array, string or plain (a number, true, false, null)
    start: int
    end: int = 0
    items: list[Node] = field(default_factory=list)  #: of an array; of an object its values
    keys: dict[str, int] = field(default_factory=dict)  #: of an object: where in `items` its value is
    starts: list[int] = field(default_factory=list)  #: where each element begins: in an object its key
    value: str = ""  #: of a string

    def get(self, key: str) -> Node | None:
        """A member of an object."""
        return self.items[self.keys[key]] if key in self.keys else None


def scan(text: str) -> Node:
    """
    The tree of *text*, which may begin with a byte order mark.

    Raises:
        Malformed: it is not exactly one JSON value.
    """
    at = _space(text, len(BOM) if text.startswith(BOM) else 0)
    node = _value(text, at, 0)
    end = _space(text, node.end)
    if end != len(text):
        raise Malformed(text, end, _unexpected(text, end, "the end"))
    return node


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _unexpected(text: str, at: int, wanted: str) -> str:
    if text.startswith(("//", "/*", "#"), at):
        return "a comment, which JSON does not have"
    here = repr(text[at]) if at < len(text) else "the end of the file"
    return f"{here} where {wanted} should be"


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise Malformed(text, at, f"nested deeper than {MAX_DEPTH}")
    first = text[at : at + 1]
    if first in _NAMES:
        return _container(text, at, depth)
    if first == '"':
        return _string(text, at)
    found = _NUMBER.match(text, at) or _WORD.match(text, at)
    if found is None:
        raise Malformed(text, at, _unexpected(text, at, "a value"))
    return Node("plain", at, found.end())


def _string(text: str, at: int) -> Node:
    found = _STRING.match(text, at)
    if found is None:
        raise Malformed(text, at, "a string that does not end, or holds a raw control character or a bad escape")
    return Node("string", at, found.end(), value=json.loads(found[0]))


def _container(text: str, at: int, depth: int) -> Node:
    node = Node(_NAMES[text[at]], at)
    closing = "}" if node.kind == "object" else "]"
    at = _space(text, at + 1)
    while text[at : at + 1] != closing or node.items:
        node.starts.append(at)
        if node.kind == "object":
            at = _key(text, at, node)
        item = _value(text, at, depth + 1)
        node.items.append(item)
        at = _space(text, item.end)
        if text[at : at + 1] == closing:
            break
        if text[at : at + 1] != ",":
            raise Malformed(text, at, _unexpected(text, at, f"',' or {closing!r}"))
        at = _space(text, at + 1)
        if text[at : at + 1] == closing:
            raise Malformed(text, at, "a comma after the last element, which JSON does not allow")
    node.end = at + 1
    return node


def _key(text: str, at: int, node: Node) -> int:
    """Read the key at *at* into *node*; where its value begins."""
    if text[at : at + 1] != '"':
        raise Malformed(text, at, _unexpected(text, at, "a key in double quotes"))
    key = _string(text, at)
    if key.value in node.keys:
        raise Malformed(text, at, f"the key {key.value!r} stands there twice")
    node.keys[key.value] = len(node.items)
    at = _space(text, key.end)
    if text[at : at + 1] != ":":
        raise Malformed(text, at, _unexpected(text, at, "':'"))
    return _space(text, at + 1)
