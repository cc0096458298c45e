"""Whether this host may take one more agent."""

from __future__ import annotations

import os
import shutil

from fleet.engines.accounts import account_of
from fleet.errors import EnvironmentMissing, NoRoom, OnHold, Unreachable
from fleet.formats import launch, queue_entry
from fleet.formats.ids import id_of_session
from fleet.model.holds import described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.app import Fleet
    from fleet.config import Settings
    from fleet.model.panes import Snapshot
    from fleet.observe.facts import Looker

MEGABYTE = 1024 * 1024


def check_hold(look: Looker, engine: str, env: Mapping[str, str], project: str) -> None:
    """
    Make sure that agents of that engine, with the account in *env*, may be started for that project.

    Raises:
        OnHold: they may not; says until when.
    """
    hold = look.hold(engine, account_of(engine, env), project)
    if hold is not None:
        hint = f"`fleet hold clear {hold.key}` lifts it; tasks of `fleet dispatch --from` wait for its end"
        raise OnHold(described(hold), hint=hint)


def coming(fleet: Fleet) -> set[str]:
    """
    The agents that are being started right now, whose session may not be there yet.

    To be asked before the server is: what has its record by now has its session too, or has lost it, and need not be
    read. A start whose process is gone is nobody's, and one that was given up waits for the operator.
    """
    found = {str(start["id"]) for start in launch.unrecorded(fleet.layout) if fleet.owner_lives(start)}
    return found - {entry["new_agent_id"] for entry in queue_entry.readable(fleet.layout.dead)}


def check_sessions(snapshot: Snapshot, settings: Settings, coming: Iterable[str] = ()) -> None:
    """
    Count the agents' sessions on the server; one whose program has ended costs nothing and does not count.

    Args:
        coming: agents that are on their way and whose session may not be there yet.

    Raises:
        NoRoom: as many as allowed are there.
        Unreachable: they could not be counted.
    """
    if places_left(snapshot, settings, coming) <= 0:
        raise no_place(settings)


def places_left(snapshot: Snapshot, settings: Settings, coming: Iterable[str] = ()) -> int:
    """How many more agents' sessions the host may have; arguments and errors as for `check_sessions`."""
    if snapshot.error:
        raise Unreachable(f"cannot count the running agents: {snapshot.error}")
    names = {name: id_of_session(name) for name in snapshot.by_session}
    ended = {names[name] for name, panes in snapshot.by_session.items() if all(pane.dead for pane in panes)}
    return int(settings["limits.max_sessions"]) - len(({*names.values(), *coming} - ended) - {None})


def no_place(settings: Settings) -> NoRoom:
    """That as many agents are there as allowed."""
    allowed = settings["limits.max_sessions"]
    return NoRoom(
        f"as many agents are there as may be: {allowed} are allowed",
        hint="end some with `fleet stop`, or raise FLEET_MAX_SESSIONS",
    )


def check_memory(settings: Settings) -> None:
    """
    Look at the memory that can be had without swapping.

    Raises:
        NoRoom: it is below limits.min_free_memory_mb.
    """
    need = settings.number("limits.min_free_memory_mb")
    free = available_memory() / MEGABYTE
    if free < need:
        raise NoRoom(
            f"{free:.0f} MB of memory are free and {need:.0f} are asked for",
            hint="end some agents, or lower limits.min_free_memory_mb in config.yaml",
        )


def available_memory() -> int:
    """Bytes of memory that can be had without swapping: the kernel's own estimate, else psutil's."""
    try:
        with open("/proc/meminfo", encoding="ascii") as f:
            for line in f:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    import psutil  # noqa: PLC0415  # 10 ms, paid where an agent is started

    return int(psutil.virtual_memory().available)


def check_disk(home: str, settings: Settings) -> None:
    """
    Look at the disk of the fleet home.

    Raises:
        NoRoom: less than limits.min_free_disk_mb is free there.
    """
    need = settings.number("limits.min_free_disk_mb")
    free = shutil.disk_usage(home).free / MEGABYTE
    if free < need:
        raise NoRoom(
            f"{free:.0f} MB of disk are free in {home} and {need:.0f} are asked for",
            hint="make room, or lower limits.min_free_disk_mb in config.yaml",
        )


def check_home(home: str) -> None:
    """
    Make sure that the fleet home can be written.

    Raises:
        EnvironmentMissing: it cannot.
    """
    if not os.path.isdir(home) or not os.access(home, os.W_OK | os.X_OK):
        raise EnvironmentMissing(f"FLEET_HOME {home} cannot be written", hint="name another folder with FLEET_HOME")
