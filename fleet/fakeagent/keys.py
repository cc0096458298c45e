r"""
What arrives from the keyboard, as keys.

A bracketed paste (`ESC [ 200 ~ ... ESC [ 201 ~`) is one event, whatever is in it. Without brackets a
paste is a burst: a carriage return with more text behind it in the same read is a line break of that
text and not the Enter key; only one at the very end is. An ESC with nothing behind it is the Escape
key, but only once nothing has followed it for a moment, because a sequence may be split between two
reads.
"""

from __future__ import annotations

import re
from typing import NamedTuple

ESCAPE_WAIT_SECONDS = 0.05
PASTE_START = b"\x1b[200~"
PASTE_END = b"\x1b[201~"
SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?<>]*[@-~]|O[@-~]|[^\[O\x1b])")
TEXT = re.compile(rb"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
SEQUENCES = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b[C": "right",
    b"\x1bOC": "right",
    b"\x1b[D": "left",
    b"\x1bOD": "left",
    b"\x1b[Z": "shift-tab",
    b"\x1b\r": "newline",
}
CONTROLS = {
    0x03: "ctrl-c",
    0x04: "ctrl-d",
    0x08: "backspace",
    0x09: "tab",
    0x0A: "newline",
    0x0D: "enter",
    0x10: "up",
    0x0E: "down",
    0x15: "ctrl-u",
    0x17: "ctrl-w",
    0x7F: "backspace",
}


class Key(NamedTuple):
    """One key, or one text."""

    name: str  #: `text`, `paste`, `escape`, or a value of the tables above; `other` is ignored by everyone.
    text: str = ""


class Decoder:
    """Turns reads into keys, across the borders of reads."""

    def __init__(self) -> None:
        self._held = b""

    @property
    def waits_for_more(self) -> bool:
        """Whether something was read that may be the beginning of a sequence."""
        return bool(self._held)

    def feed(self, data: bytes) -> list[Key]:
        """The keys that are complete now."""
        data, self._held = self._held + data, b""
        keys: list[Key] = []
        while data:
            if data.startswith(PASTE_START):
                end = data.find(PASTE_END)
                if end < 0:
                    self._held = data
                    break
                keys.append(Key("paste", _text(data[len(PASTE_START) : end])))
                data = data[end + len(PASTE_END) :]
            elif data.startswith(b"\x1b"):
                found = SEQUENCE.match(data)
                if found is None:
                    if len(data) > 1 and data[1:2] == b"\x1b":  # two Escapes
                        keys.append(Key("escape"))
                        data = data[1:]
                        continue
                    self._held = data
                    break
                keys.append(Key(SEQUENCES.get(found[0], "other")))
                data = data[found.end() :]
            elif data[0] < 0x20 or data[0] == 0x7F:
                keys.append(Key(CONTROLS.get(data[0], "other")))
                data = data[1:]
            else:
                data = self._run_of_text(data, keys)
        return keys

    def flush(self) -> list[Key]:
        """Nothing more came: an ESC that was held is the Escape key. A paste is waited for."""
        keys: list[Key] = []
        while self._held and not self._held.startswith(PASTE_START):
            held, self._held = self._held, b""
            if held.startswith(b"\x1b"):
                keys += [Key("escape"), *self.feed(held[1:])]
            else:
                keys.append(Key("text", _text(held)))
        return keys

    def _run_of_text(self, data: bytes, keys: list[Key]) -> bytes:
        found = TEXT.match(data)
        run = found[0].rstrip(b"\r") if found else data[:1]
        rest = data[len(run) :]
        partial = 0 if rest else _partial_character(run)
        if partial:
            self._held, run = run[-partial:], run[:-partial]
        if run:
            keys.append(Key("text", _text(run)))
        return rest


def _partial_character(data: bytes) -> int:
    """How many bytes at the end of *data* begin a UTF-8 character that is not complete."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
        if byte < 0x80:
            break
    return 0


def _text(data: bytes) -> str:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\t", "    ")
