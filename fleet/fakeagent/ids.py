"""Identifiers and times as the client writes them; `uuid` and `datetime` cost too much to import."""

import os
import time


def new_uuid() -> str:
    """A random UUID (version 4)."""
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_uuid(text: str) -> bool:
    """Whether *text* has the form of a UUID."""
    parts = text.lower().split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and all(
        char in "0123456789abcdef-" for char in text.lower()
    )


def new_id(prefix: str, digits: int = 24) -> str:
    """An id such as `msg_4f03627659d149c282e21b27`."""
    return prefix + os.urandom(digits).hex()[:digits]


def now() -> str:
    """The time in UTC, to the millisecond."""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"
