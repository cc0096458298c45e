"""What the watchdog remembers, so that a restart goes on where the last one stopped.

    run/watch.json           {"schema_version", "at", "monotonic", "boot_id", "watched_since", "actions": [at, ...],
                              "cpu": {"<id>": {"pid_start", "seconds", "at", "busy_at"}},
                              "dispatches": {"<dispatch>": {"agent_id", "task_id", "resumes", "respawns", "number",
                              "acted_at", "told_at", "orphaned", "acted_ever", "quiet_seconds", "unmeasured_told",
                              "finished", "ended_at", "blind_at", "pending": null | {"action", "trouble", "attempt",
                              "number", "agent_id", "at", "why"}}}}
    run/watch-envelope.json  {"schema_version", "samples": [seconds, ...]}

Times are wall seconds; of a dispatch only what is not as usual is written. A file that cannot be used is named and left
as it is, and the watchdog does nothing: a ladder that was forgotten would begin again at its first rung. One process
watches at a time, under `run/locks/watch.lock`.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import Lock, encode, ensure_dir, read_object, write_file
from fleet.formats.ids import is_id
from fleet.formats.tuples import NamedTuple
from fleet.model.watchdog import SAMPLES_KEPT, Action, Intent, Memory, Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1
ACTIONS_KEPT = 200
_INTENTS = frozenset((str(action), str(trouble)) for action in Action for trouble in Trouble)


class Cpu(NamedTuple):
    """How much an agent's processes had computed when they were last looked at."""

    pid_start: str
    seconds: float  #: CPU time so far
    at: float
    busy_at: float | None = None  #: when they were last seen busy


class Watched(NamedTuple):
    """All of `run/watch.json`."""

    at: float
    monotonic: float
    boot_id: str
    watched_since: float
    memories: Mapping[str, Memory]
    actions: tuple[float, ...] = ()
    cpu: Mapping[str, Cpu] = {}

    def clocks(self) -> dict[str, float | str]:
        """What `watchdog.watched_since` asks for."""
        names = ("at", "monotonic", "boot_id", "watched_since")
        return {name: getattr(self, name) for name in names}


class WatchStore:
    """The two files."""

    def __init__(self, layout: Layout) -> None:
        self.path = os.path.join(layout.run, "watch.json")
        self.envelope_path = os.path.join(layout.run, "watch-envelope.json")
        self._lock_path = os.path.join(layout.run, "locks", "watch.lock")

    def lock(self) -> Lock:
        """Held for a whole tick."""
        ensure_dir(os.path.dirname(self._lock_path))
        return Lock(self._lock_path)

    def read(self) -> Watched | None:
        """
        What is remembered; None when there is nothing.

        Raises:
            BadFile, NewerSchema: it is there and cannot be used.
        """
        try:
            data = read_object(self.path, schema=SCHEMA_VERSION)
        except FileNotFoundError:
            return None
        dispatches, cpu = data.get("dispatches"), data.get("cpu")
        if not isinstance(dispatches, dict) or not isinstance(cpu, dict):
            raise BadFile(self.path, "dispatches or cpu is missing")
        actions = data.get("actions")
        if not isinstance(actions, list) or not all(_is_number(at) for at in actions):
            raise BadFile(self.path, f"actions is {actions!r}")
        return Watched(
            at=self._number(data, "at"),
            monotonic=self._number(data, "monotonic"),
            boot_id=self._text(data, "boot_id"),
            watched_since=self._number(data, "watched_since"),
            memories={name: self._memory(name, one) for name, one in dispatches.items()},
            actions=tuple(map(float, actions)),
            cpu={name: self._cpu(name, one) for name, one in cpu.items()},
        )

    def write(self, watched: Watched) -> None:
        """Remember, synced: what was done must not be forgotten and done again."""
        write_file(self.path, encode({
            "schema_version": SCHEMA_VERSION,
            **watched.clocks(),
            "actions": list(watched.actions[-ACTIONS_KEPT:]),
            "cpu": {name: one._asdict() for name, one in watched.cpu.items()},
            "dispatches": {name: _data(memory) for name, memory in watched.memories.items()},
        }))  # fmt: skip

    def samples(self) -> tuple[float, ...]:
        """
        The longest quiet stretches of dispatches that ended well, seconds, oldest first.

        Raises:
            BadFile, NewerSchema: the file is there and cannot be used.
        """
        try:
            found = read_object(self.envelope_path, schema=SCHEMA_VERSION).get("samples")
        except FileNotFoundError:
            return ()
        if not isinstance(found, list) or not all(_is_number(one) and one >= 0 for one in found):
            raise BadFile(self.envelope_path, f"samples is {found!r}")
        return tuple(map(float, found[-SAMPLES_KEPT:]))

    def add_samples(self, new: tuple[float, ...]) -> None:
        """Learn; raises as `samples`."""
        kept = [round(one, 1) for one in (*self.samples(), *new)][-SAMPLES_KEPT:]
        write_file(self.envelope_path, encode({"schema_version": SCHEMA_VERSION, "samples": kept}))

    def _memory(self, name: str, data: Any) -> Memory:
        if not is_id(name) or not isinstance(data, dict):
            raise BadFile(self.path, f"dispatches holds {name!r}")
        pending = data.get("pending")
        data = {**Memory()._asdict(), **data}
        return Memory(
            agent_id=self._text(data, "agent_id"),
            task_id=self._text(data, "task_id"),
            resumes=self._count(data, "resumes"),
            respawns=self._count(data, "respawns"),
            number=self._count(data, "number"),
            acted_at=self._time(data, "acted_at"),
            told_at=self._time(data, "told_at"),
            orphaned=data.get("orphaned") is True,
            acted_ever=data.get("acted_ever") is True,
            quiet_seconds=self._number(data, "quiet_seconds"),
            unmeasured_told=data.get("unmeasured_told") is True,
            finished=data.get("finished") is True,
            ended_at=self._time(data, "ended_at"),
            blind_at=self._time(data, "blind_at"),
            pending=None if pending is None else self._intent(pending),
        )

    def _intent(self, data: Any) -> Intent:
        if not isinstance(data, dict) or (data.get("action"), data.get("trouble")) not in _INTENTS:
            raise BadFile(self.path, f"pending is {data!r}")
        return Intent(
            action=Action(data["action"]),
            trouble=Trouble(data["trouble"]),
            attempt=self._count(data, "attempt"),
            number=self._count(data, "number"),
            agent_id=self._text(data, "agent_id"),
            at=self._number(data, "at"),
            why=self._text(data, "why"),
        )

    def _cpu(self, name: str, data: Any) -> Cpu:
        if not is_id(name) or not isinstance(data, dict):
            raise BadFile(self.path, f"cpu holds {name!r}")
        seconds, at = self._number(data, "seconds"), self._number(data, "at")
        return Cpu(self._text(data, "pid_start"), seconds, at, self._time(data, "busy_at"))

    def _number(self, data: Mapping[str, Any], name: str) -> float:
        value = data.get(name)
        if not _is_number(value):
            raise BadFile(self.path, f"{name} is {value!r}")
        return float(value)  # type: ignore[arg-type]  # it is a number

    def _time(self, data: Mapping[str, Any], name: str) -> float | None:
        return None if data.get(name) is None else self._number(data, name)

    def _count(self, data: Mapping[str, Any], name: str) -> int:
        value = data.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise BadFile(self.path, f"{name} is {value!r}")
        return value

    def _text(self, data: Mapping[str, Any], name: str) -> str:
        value = data.get(name)
        if not isinstance(value, str):
            raise BadFile(self.path, f"{name} is {value!r}")
        return value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value  # noqa: PLR0124  # no NaN


def _data(memory: Memory) -> dict[str, Any]:
    """What of it is not as for a dispatch that was never seen."""
    data = {k: v for k, v, usual in zip(Memory._fields, memory, Memory(), strict=True) if v != usual}
    return data if memory.pending is None else {**data, "pending": memory.pending._asdict()}
