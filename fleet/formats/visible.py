"""Control characters made visible, for a text that goes through a terminal.

There a control character is a key or a command: ESC [ 201 ~ ends a bracketed paste, and what follows is typed; ^C ends
a program. In UTF-8 a C1 character arrives as two bytes and means the same as ESC and a letter; a byte from 0x80 to
0x9f that is no UTF-8 does for a program that reads bytes.
"""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")  #: surrogates that stand for no byte
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udc9f]")


def visible(text: str) -> str:
    r"""
    *text* with every control character but newline and tab in a visible form; one without any is the same text.

    C0 and DEL become `^X` (ESC is `^[`), C1 characters and bytes `\x9b`; a carriage return before a newline goes. Other
    bytes that are no UTF-8 stay, as surrogate escapes. Safe to repeat.
    """
    if not text.isascii():  # bytes that were escaped one by one may be a character together, as for who reads them
        whole = _HALF.sub("\ufffd", text).encode("utf-8", "surrogateescape")
        text = whole.decode("utf-8", "surrogateescape")
    return _CONTROL.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20 or code == 0x7F:
        return "^" + chr(code ^ 0x40)
    return f"\\x{code & 0xFF:02x}"
