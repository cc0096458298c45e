"""The summary that a status line reads, and how it is known to be out of date. Standard library, cheap to import.

    run/status.json    {"schema_version", "at", "agents": {"<id>": {"turn", "reason", "since", "task", "over",
                        "stamp"}}, "theme", "config"}

The drain writes it, and `fleet status-line --refresh` where none runs. A stamp is size and time of the files that the
judgement rested on (record, event log, and for an agent that waits the engine's own log), taken before they were read:
whatever changed since shows as another stamp. What no file tells, such as a killed engine, is covered by an age.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import encode, read_object, write_file
from fleet.formats.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1
FRESH_SECONDS = 60  #: an older summary is out of date whatever the files say
COUNTED = ("working", "waiting", "idle", "starting", "compacting", "exited", "gone", "unknown")


def path(layout: Layout) -> str:
    """Where the summary lies."""
    return os.path.join(layout.run, "status.json")


def stamp(layout: Layout, agent_id: str, log: str | None = None) -> list[int]:
    """Size and time of the agent's record, of its event log, and of *log*; zeros for what is not there."""
    found: list[int] = []
    for name in (layout.record(agent_id), layout.event_log(agent_id), log):
        try:
            info = os.stat(name) if name else None
        except OSError:
            info = None
        found += [info.st_size, info.st_mtime_ns] if info else [0, 0]
    return found


def config_stamp(layout: Layout) -> int:
    """The time of the user's settings, 0 without any."""
    try:
        return os.stat(os.path.join(layout.home, "config.yaml")).st_mtime_ns
    except OSError:
        return 0


def write(layout: Layout, agents: dict[str, Any], theme: dict[str, Any], wall: float, config: int) -> None:
    """Publish the summary. Not synced: it is made anew whenever it is missing."""
    data = {"schema_version": SCHEMA_VERSION, "at": wall, "agents": agents, "theme": theme, "config": config}
    write_file(path(layout), encode(data), sync=False)


def read(layout: Layout) -> dict[str, Any] | None:
    """The summary; None when there is none that can be used."""
    try:
        data = read_object(path(layout), schema=SCHEMA_VERSION)
    except (FileNotFoundError, BadFile):
        return None
    usable = isinstance(data.get("agents"), dict) and isinstance(data.get("at"), (int, float))
    return data if usable and all(isinstance(row, dict) for row in data["agents"].values()) else None


def counts(layout: Layout, data: dict[str, Any] | None, wall: float) -> dict[str, Any]:
    """
    What a status line shows.

    Returns: one count for each turn as `fleet list` has them, `agents`, `for_you` (those waiting whose successor is not
        on its way), `over` (context at or over the threshold), `dead` (handoffs given up), `next` (the task that has
        waited for you longest, or ""), `stale` (the files say more than the summary, or it is old), `age_seconds`
        (None without a summary).
    """
    found: dict[str, Any] = dict.fromkeys(COUNTED, 0)
    ids = _ids(layout.agents)
    rows = data["agents"] if data else {}
    known = [agent_id for agent_id in ids if agent_id in rows]
    for agent_id in known:
        turn = rows[agent_id].get("turn")
        found[turn if turn in found else "unknown"] += 1
    waiting = [rows[i] for i in known if rows[i].get("turn") == "waiting" and rows[i].get("reason") != "handoff"]
    longest: dict[str, Any] = min(waiting, key=lambda row: str(row.get("since") or ""), default={})
    age = wall - data["at"] if data else None
    old = bool(ids) and (age is None or not 0 <= age <= FRESH_SECONDS)
    found |= {
        "agents": len(ids),
        "for_you": len(waiting),
        "over": sum(bool(rows[i].get("over")) for i in known),
        "dead": len(_ids(layout.dead, "spawn-fresh-")),
        "next": str(longest.get("task") or ""),
        "stale": old or len(known) != len(ids) or (data is not None and data.get("config") != config_stamp(layout))
        or any(stamp(layout, i, _log(rows[i])) != rows[i].get("stamp") for i in known),
        "age_seconds": None if age is None else max(0, int(age)),
    }  # fmt: skip
    return found


def _log(row: dict[str, Any]) -> str | None:
    log = row.get("log")
    return log if isinstance(log, str) else None


def _ids(folder: str, prefix: str = "") -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [name[len(prefix) : -5] for name in names
            if name.startswith(prefix) and name.endswith(".json") and is_id(name[len(prefix) : -5])]  # fmt: skip
