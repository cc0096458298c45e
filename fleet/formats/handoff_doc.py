"""The handoff document: frontmatter in a fixed order with Go's %q quoting, then five sections.

Readers of the source system parse it by line prefix, so bytes matter. What a body may not do is look like a part of
the frame: a line that would read as a section header or a fence, behind any character that some reader takes for a
line break (VT, FF, FS, GS, RS, NEL, U+2028, U+2029), is pushed aside by a backslash.
"""

from __future__ import annotations

import os
import re
import sys

from fleet.formats.texts import PLACEHOLDER, SECTIONS
from fleet.formats.times import compact, rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FENCE = "---"
FIELDS = (
    "agent_id", "task_id", "project", "context_pct_at_handoff", "previous_handoff", "handoff_number",
    "timestamp", "handoff_type",
)  # fmt: skip

_SHORT = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    '"': '\\"', "\\": "\\\\",
}  # fmt: skip
_UNSHORT = {v[1]: k for k, v in _SHORT.items()} | {"'": "'"}
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)", re.DOTALL)
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_BLANKS = rf"[^\S{_BREAKS}]*"
_FRAME = re.compile(rf"(\A|[{_BREAKS}])({_BLANKS})(#{{1,6}}(?=\s|\Z)|-{{3,}}(?={_BLANKS}(?:\Z|[{_BREAKS}])))")
HEADING_CHARACTERS = 100  #: no heading of ours is longer, however decorated
_PRINTABLE = frozenset("LMNPS")


def go_quote(text: str) -> str:
    r"""
    *text* as Go's strconv.Quote prints it.

    Invalid bytes (surrogate escapes) and control characters become `\xNN`, what is not printable `\uNNNN` or
    `\UNNNNNNNN`; everything else stays as it is.
    """
    out = []
    for c in text:
        code = ord(c)
        if c in _SHORT:
            out.append(_SHORT[c])
        elif 0x20 <= code < 0x7F:
            out.append(c)
        elif code < 0x20 or code == 0x7F:
            out.append(f"\\x{code:02x}")
        elif 0xDC80 <= code <= 0xDCFF:
            out.append(f"\\x{code - 0xDC00:02x}")
        elif 0xD800 <= code <= 0xDFFF:
            out.append("\\ufffd")
        elif _printable(c):
            out.append(c)
        else:
            out.append(f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
    return '"' + "".join(out) + '"'


def _printable(c: str) -> bool:
    import unicodedata  # noqa: PLC0415  # only for text beyond ASCII

    return unicodedata.category(c)[0] in _PRINTABLE


def go_unquote(text: str) -> str | None:
    """The inverse of `go_quote`, or None when *text* is not so quoted."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return None
    bad = False

    def back(found: re.Match[str]) -> str:
        nonlocal bad
        code = found[1]
        if code[0] == "x" and len(code) == 3:
            value = int(code[1:], 16)
            return chr(value) if value < 0x80 else chr(0xDC00 + value)
        if code[0] in "uU" and len(code) > 1:
            value = int(code[1:], 16)
            if value <= sys.maxunicode:
                return chr(value)
        if code not in _UNSHORT:
            bad = True
        return _UNSHORT.get(code, code)

    inner = text[1:-1]
    if re.search(r'(?<!\\)(?:\\\\)*"', inner) or re.search(r"(?<!\\)(?:\\\\)*\\$", inner):
        return None
    result = _ESCAPE.sub(back, inner)
    return None if bad else result


def number(value: float | None) -> str:
    """A JSON number in its shortest form: `55`, `55.25`, `null`."""
    if value is None:
        return "null"
    return str(int(value)) if float(value).is_integer() else repr(round(float(value), 6))


def neutralise(body: str) -> str:
    """*body* with every line that could pass for a section header or a fence pushed aside."""
    text = body.encode("utf-8", "replace").decode("utf-8")
    while True:
        fixed = _FRAME.sub(r"\1\2\\\3", text)
        if fixed == text:
            return fixed.strip(_BREAKS + " \t")
        text = fixed


def render(header: Mapping[str, Any], bodies: Mapping[str, str]) -> bytes:
    """
    The whole document.

    Args:
        header: the FIELDS; strings are quoted, None becomes `null`.
        bodies: section name to text; a missing or empty one becomes the placeholder.
    """
    lines = [FENCE]
    for name in FIELDS:
        value = header[name]
        lines.append(f"{name}: {go_quote(value) if isinstance(value, str) else number(value)}")
    lines += [FENCE, ""]
    for name in SECTIONS:
        lines += [f"## {name}", "", neutralise(bodies.get(name, "")) or PLACEHOLDER, ""]
    return "\n".join(lines).encode("utf-8", "replace")


def parse(text: str) -> tuple[dict[str, Any], dict[str, str]] | None:
    """The header and the bodies of a document (ours or the source system's), or None when it is none."""
    lines = text.split("\n")
    if not lines or lines[0].rstrip() != FENCE:
        return None
    header: dict[str, Any] = {}
    position = 1
    while position < len(lines) and lines[position].rstrip() != FENCE:
        name, colon, value = lines[position].partition(": ")
        if not colon:
            return None
        value = value.strip()
        if value.startswith('"'):
            header[name] = go_unquote(value)
            if header[name] is None:
                return None
        elif value == "null":
            header[name] = None
        else:
            try:
                header[name] = float(value) if "." in value else int(value)
            except ValueError:
                return None
        position += 1
    if position >= len(lines):
        return None
    return header, sections("\n".join(lines[position + 1 :]))


def sections(text: str) -> dict[str, str]:
    """
    The bodies under the five headings in *text*, of a document or of an agent's draft.

    Headings are taken in any order and with any number of `#`; text before the first is dropped; a repeated heading
    adds to the first. Only headings of ours end a section, so an agent may use its own below them.
    """
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    known = {_key(name): name for name in SECTIONS}
    for one in text.splitlines():
        heading = _heading(one)
        name = known.get(_key(heading)) if heading else None
        if name is not None:
            current = found.setdefault(name, [])
        elif current is not None:
            current.append(one)
    bodies = {name: "\n".join(body).strip() for name, body in found.items()}
    return {name: body for name, body in bodies.items() if body and body != PLACEHOLDER}


def _heading(line: str) -> str | None:
    text = line.strip()
    words = text.lstrip("#")
    is_heading = 1 <= len(text) - len(words) <= 6 and words[:1].isspace() and len(text) <= HEADING_CHARACTERS
    return words if is_heading else None


def _key(heading: str) -> str:
    return re.sub(r"\(.*?\)|[^a-z]", "", heading.lower())


def new_name(agent_id: str, wall: float) -> str:
    """A new document's file name: `<id>-<YYYYMMDD-HHMMSS>-<4 hex>.md`."""
    return f"{agent_id}-{compact(wall)}-{os.urandom(2).hex()}.md"


def header(record: Mapping[str, Any], wall: float, handoff_type: str, context_pct: float | None) -> dict[str, Any]:
    """The frontmatter of the document by which *record*'s agent hands off."""
    return {
        "agent_id": record["id"],
        "task_id": record["task_id"],
        "project": record["project"],
        "context_pct_at_handoff": context_pct,
        "previous_handoff": record["last_handoff_path"],
        "handoff_number": record["handoff_number"],
        "timestamp": rfc3339(wall),
        "handoff_type": handoff_type,
    }
