"""Whether this host may take one more agent."""

from __future__ import annotations

import os
import shutil

from fleet.errors import EnvironmentMissing, Unreachable
from fleet.formats.ids import id_of_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.config import Settings
    from fleet.model.panes import Snapshot

MEGABYTE = 1024 * 1024


def check_sessions(snapshot: Snapshot, settings: Settings, coming: Iterable[str] = ()) -> None:
    """
    Count the agents' sessions on the server.

    Args:
        coming: agents whose start is journaled and whose session may not be there yet.

    Raises:
        EnvironmentMissing: as many as allowed are there.
        Unreachable: they could not be counted.
    """
    if snapshot.error:
        raise Unreachable(f"cannot count the running agents: {snapshot.error}")
    allowed = int(settings["limits.max_sessions"])
    there = {id_of_session(name) for name in snapshot.by_session} - {None}
    found = len(there | set(coming))
    if found >= allowed:
        raise EnvironmentMissing(
            f"{found} agents are there and {allowed} are allowed",
            hint="end some with `fleet stop`, or raise FLEET_MAX_SESSIONS",
        )


def check_memory(settings: Settings) -> None:
    """
    Look at the memory that can be had without swapping.

    Raises:
        EnvironmentMissing: it is below limits.min_free_memory_mb.
    """
    need = settings.number("limits.min_free_memory_mb")
    free = available_memory() / MEGABYTE
    if free < need:
        raise EnvironmentMissing(
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
        EnvironmentMissing: less than limits.min_free_disk_mb is free there.
    """
    need = settings.number("limits.min_free_disk_mb")
    free = shutil.disk_usage(home).free / MEGABYTE
    if free < need:
        raise EnvironmentMissing(
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
