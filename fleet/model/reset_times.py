"""When an engine says that a limit is over: from its own words to wall seconds. Pure."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo

LONGEST_DAYS = 62  #: a reset that is further away was not read right
_MONTHS = {name: n for n, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}  # fmt: skip
_DAYS = {name: n for n, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
_LEAD = re.compile(r"\b(?:resets?|try again|available again|retry)\b(?:\s+(?:at|on|after))?:?\s+", re.IGNORECASE)
_MONTH = re.compile(
    r"(?P<month>[A-Z][a-z]{2})[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?(?:, (?P<year>\d{4}))?,? ?(?:at )?",
    re.IGNORECASE,
)
_DAY = re.compile(r"(?P<weekday>Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? ?(?:at )?", re.IGNORECASE)
_CLOCK = re.compile(r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)? ?(?P<half>[ap]\.?m\b)?", re.IGNORECASE)
_ZONE = re.compile(r",? ?\(?(?P<zone>UTC|GMT|[A-Z][A-Za-z_]+(?:/[A-Za-z_+-]+){1,2})\)?")
_UNIT = r"(?:d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])"
_SPAN = re.compile(rf"(?:in )?(?:about |~)?(?P<spans>(?:\d+(?:\.\d+)? ?{_UNIT}[, ]*(?:and )?)+)", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?) ?([dhms])", re.IGNORECASE)
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def reset_time(text: str, now: float, local: dt.tzinfo | None = None) -> float | None:
    """
    When an engine says that it goes on, in wall seconds; None when it does not, or nothing can be made of it.

    Forms of Claude Code 2.1.197 ("resets 5pm", "resets Jan 15, 2027, 8am (UTC)") and Codex 0.171.0 ("try again at Jan
    15th, 2027 8:00 AM", "try again in 3 hours 20 minutes"), wrapped or not.

    Args:
        local: the zone of times without one; None: this host's.
    """
    words = " ".join(text.split())
    for lead in _LEAD.finditer(words):
        rest = words[lead.end() :]
        found = _span(rest, now) or _date(rest, now, local)
        if found is not None and now - 86400 < found <= now + LONGEST_DAYS * 86400:
            return found
    return None


def _span(text: str, now: float) -> float | None:
    found = _SPAN.match(text)
    if found is None:
        return None
    return now + sum(float(n) * _SECONDS[unit.lower()] for n, unit in _PART.findall(found["spans"]))


def _date(text: str, now: float, local: dt.tzinfo | None) -> float | None:
    month = _MONTH.match(text)
    if month is not None and month["month"].lower() not in _MONTHS:
        month = None
    day = None if month else _DAY.match(text)
    at = month.end() if month else day.end() if day else 0
    clock = _CLOCK.match(text, at)
    if clock is None or not (clock["half"] or clock["minute"]):
        if month is None:
            return None
        clock = None
    zone_at = clock.end() if clock else at
    named = _ZONE.match(text, zone_at)
    try:
        zone = local if named is None else zoneinfo.ZoneInfo(named["zone"])
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None
    today = dt.datetime.fromtimestamp(now, zone) if zone else dt.datetime.fromtimestamp(now).astimezone()
    hour, minute = _hour(clock)
    try:
        when = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if month is not None:
            year = int(month["year"] or today.year)
            when = when.replace(year=year, month=_MONTHS[month["month"].lower()], day=int(month["day"]))
            if month["year"] is None and when.timestamp() < now - 86400:
                when = when.replace(year=year + 1)
        elif day is not None:
            when += dt.timedelta(days=(_DAYS[day["weekday"].lower()] - when.weekday()) % 7)
            when += dt.timedelta(days=7 if when.timestamp() <= now else 0)
        elif when.timestamp() <= now:
            when += dt.timedelta(days=1)
    except ValueError:
        return None
    return when.timestamp()


def _hour(clock: re.Match[str] | None) -> tuple[int, int]:
    if clock is None:
        return 0, 0
    hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
    if clock["half"]:
        hour = hour % 12 + (12 if clock["half"].lower().startswith("p") else 0)
    return hour, minute
