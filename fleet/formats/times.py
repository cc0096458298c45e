"""Timestamps in files: RFC 3339, UTC, ending in `Z`."""

from __future__ import annotations

import time

_FORM = r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)"


def rfc3339(wall: float) -> str:
    """Seconds since the epoch as `2026-11-30T13:00:00Z` (whole seconds)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall))


def rfc3339_ms(wall: float) -> str:
    """The same with milliseconds, for event lines."""
    millis = int(wall * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000)) + f".{millis % 1000:03d}Z"


def compact(wall: float) -> str:
    """The form in file names: `20261130-130000`, UTC."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(wall))


def parse(text: object) -> float | None:
    """Seconds since the epoch of an RFC 3339 text, or None when it is anything else."""
    if not isinstance(text, str):
        return None
    import re  # noqa: PLC0415  # a hook that reads no old stamp does not pay for it

    found = re.fullmatch(_FORM, text, re.ASCII)
    if found is None:
        return None
    import datetime as dt  # noqa: PLC0415  # only readers of old stamps pay for it

    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    zone = found[8]
    offset = 0 if zone == "Z" else (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60) * (1 if zone[0] == "+" else -1)
    if second > 60 or abs(offset) >= 24 * 3600:
        return None
    try:  # second 60 is a leap second
        whole = dt.datetime(year, month, day, hour, minute, min(second, 59), tzinfo=dt.UTC)
    except ValueError:
        return None
    return whole.timestamp() + (second == 60) + float(found[7] or 0) - offset
