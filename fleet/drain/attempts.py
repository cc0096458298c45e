"""What the drain has tried for a queue entry, in `queue/attempts/<old_id>.json`, so that a crash forgets nothing."""

from __future__ import annotations

import random

from fleet.errors import BadFile
from fleet.formats.atomic import encode, read_object, remove_file, write_file
from fleet.formats.times import parse, rfc3339_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.clock import Clock
    from fleet.config import Settings
    from fleet.formats.layout import Layout

LAST_ERROR_CHARACTERS = 500
NO_FOLDER = "no_folder_since"  #: the mark of an entry that waits for a folder that is not there


class Attempts:
    """The tries of one entry."""

    def __init__(self, layout: Layout, old_id: str, clock: Clock) -> None:
        self._path = layout.attempt(old_id)
        self._clock = clock
        try:
            self.data: dict[str, Any] = read_object(self._path)
        except (FileNotFoundError, BadFile):
            self.data = {}

    @property
    def count(self) -> int:
        """How many tries failed."""
        value = self.data.get("attempts")
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    @property
    def last_error(self) -> str | None:
        """Why the last one failed."""
        value = self.data.get("last_error")
        return value if isinstance(value, str) else None

    def seconds_left(self) -> float:
        """How long the next try has to wait."""
        due, set_at = parse(self.data.get("next_attempt_at")), parse(self.data.get("failed_at"))
        now = self._clock.wall()
        if due is None or (set_at is not None and now < set_at):  # the clock was set back: no pause outlives that
            return 0.0
        return max(0.0, due - now)

    def since(self, mark: str) -> float | None:
        """Seconds since something was marked; None when it was not. A clock set back counts as just now."""
        then = parse(self.data.get(mark))
        return None if then is None else max(0.0, self._clock.wall() - then)

    def mark(self, name: str) -> bool:
        """Note that something happens now, once; whether this call noted it."""
        if name in self.data:
            return False
        self._set({name: rfc3339_ms(self._clock.wall())})
        return True

    def begin(self, new_id: str) -> None:
        """A start is about to be tried: what was noted of an earlier start of the same successor no longer counts."""
        stale = (
            "awaited_since",
            "composer_seen_at",
            "said_late_at",
            NO_FOLDER,
            f"term_sent_at_{new_id}",
            f"kill_sent_at_{new_id}",
        )
        self.data = {k: v for k, v in self.data.items() if k not in stale}
        self._set({"begun_at": rfc3339_ms(self._clock.wall())})

    def failed(self, error: str, settings: Settings) -> None:
        """Count a failure, note why, and when the next try is due: exponential, capped, with jitter."""
        count = self.count + 1
        base = settings.number("handoff.backoff_seconds") * 2 ** (count - 1)
        pause = min(base, settings.number("handoff.backoff_cap_seconds")) * random.uniform(0.75, 1.25)  # noqa: S311
        now = self._clock.wall()
        fields = {"failed_at": rfc3339_ms(now), "next_attempt_at": rfc3339_ms(now + pause)}
        self._set({"attempts": count, "last_error": error[:LAST_ERROR_CHARACTERS], **fields})

    def note(self, error: str) -> None:
        """Say what the matter is, without counting or delaying anything."""
        if self.last_error != error[:LAST_ERROR_CHARACTERS]:
            self._set({"last_error": error[:LAST_ERROR_CHARACTERS]})

    def _set(self, fields: dict[str, Any]) -> None:
        self.data = {"schema_version": 1, **self.data, **fields}
        write_file(self._path, encode(self.data))

    def forget(self) -> None:
        """The entry is done."""
        remove_file(self._path)
