"""The holds: one file each, `holds/<key>.json`; a lifted one stays for as long as the failed turns it counted.

    {"schema_version": 1, "key", "scope": "account" | "engine" | "project" | "fleet", "reason", "text", "begun_at",
     "until", "estimated", "engine", "account", "project", "agent_id", "marks": […], "lifted_at", "lifted_by"}

Times are wall seconds. Whoever changes one holds `run/locks/holds.lock`. A file that cannot be read counts as a hold on
everything (`model.holds.unreadable`), and is never written over: whoever lifts it moves it aside, to
`<key>.json.aside-<unix seconds>`.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import Lock, encode, read_object, remove_file, sync_dir, write_file
from fleet.formats.tuples import NamedTuple
from fleet.model.holds import Hold, Lift, Scope, unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1
LOCK_SECONDS = 10.0


class Listing(NamedTuple):
    """What is there."""

    holds: tuple[Hold, ...]  #: lifted ones too, by key; one that holds everything for each of *bad*
    bad: tuple[BadFile, ...]  #: the files that cannot be read


class HoldStore:
    """Files under `holds/`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def lock(self) -> Lock:
        """Held for every read-modify-write, never across a call of tmux."""
        return Lock(self._layout.holds_lock, LOCK_SECONDS)

    def all(self) -> Listing:
        """Every hold."""
        holds, bad = [], list[BadFile]()
        try:
            names = os.listdir(self._layout.holds)
        except FileNotFoundError:
            names = []
        for name in sorted(names):
            if not name.endswith(".json") or name.startswith("."):
                continue
            hold, error = self._look(name.removesuffix(".json"))
            holds += [hold] if hold is not None else []
            bad += [error] if error is not None else []
        return Listing(tuple(holds), tuple(bad))

    def get(self, key: str) -> Hold | None:
        """One hold; None: there is none."""
        return self._look(key)[0]

    def _look(self, key: str) -> tuple[Hold | None, BadFile | None]:
        path = self._layout.hold(key)
        try:
            return _read(path), None
        except FileNotFoundError:
            return None, None
        except BadFile as e:
            return unreadable(key, str(e), _written_at(path)), e

    def put(self, hold: Hold) -> None:
        """Write one, synced."""
        data = {"schema_version": SCHEMA_VERSION, **hold._asdict(), "scope": str(hold.scope), "marks": list(hold.marks)}
        data["lifted_by"] = str(hold.lifted_by) if hold.lifted_by else None
        write_file(self._layout.hold(hold.key), encode(data))

    def forget(self, key: str) -> None:
        """Remove one. Safe to repeat."""
        remove_file(self._layout.hold(key))

    def set_aside(self, key: str, now: float) -> str:
        """Move a file that cannot be read out of the way, and keep it; the path it has then. *now*: wall seconds."""
        path, second = self._layout.hold(key), int(now)
        while os.path.lexists(aside := f"{path}.aside-{second}"):
            second += 1
        os.rename(path, aside)
        sync_dir(self._layout.holds)
        return aside


def _read(file: str) -> Hold:
    data: dict[str, Any] = read_object(file, schema=SCHEMA_VERSION)
    known = {name: data[name] for name in Hold._fields if name in data}
    key, marks = known.get("key"), known.get("marks", [])
    if not isinstance(key, str) or os.path.basename(file) != key + ".json":
        raise BadFile(file, f"it is the hold of {key!r}")
    if data.get("scope") not in list(Scope) or data.get("lifted_by") not in (None, *Lift):
        raise BadFile(file, "scope or lifted_by is none of the known words")
    times = [data.get(name) for name in ("until", "lifted_at") if data.get(name) is not None]
    if not all(_is_time(one) for one in [data.get("begun_at"), *times]):
        raise BadFile(file, "begun_at, until or lifted_at is no time")
    if not isinstance(marks, list) or not all(isinstance(data.get(name), str) for name in ("reason", "text")):
        raise BadFile(file, "reason, text or marks is missing")
    known |= {"scope": Scope(data["scope"]), "marks": tuple(map(str, marks))}
    known["lifted_by"] = Lift(data["lifted_by"]) if data.get("lifted_by") else None
    return Hold(**known)


def _written_at(path: str) -> float:
    """Since when it may have held, as far as can be told."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
