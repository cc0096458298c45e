"""Having an intent carried out: by the drain that runs, or by this process as the drain, through the same functions."""

from __future__ import annotations

import hashlib
import subprocess

from fleet.clock import pause
from fleet.drain.lock import DrainLock
from fleet.errors import TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.app import Fleet
    from fleet.formats.layout import Layout

SESSION = "fleet-drain"
FIRST_LOOK_SECONDS = 0.05


def detached_session(layout: Layout) -> str:
    """The tmux session of `fleet drain --detach`; homes may share a server."""
    return f"{SESSION}-{hashlib.sha256(layout.home.encode()).hexdigest()[:6]}"


def carry_out(fleet: Fleet, done: Callable[[], bool], timeout_seconds: float, what: str) -> None:
    """
    Return when *done* holds; be the drain for as long as nobody is.

    Raises:
        TimedOut: it did not hold in time. The intent stays, and a drain that runs or comes goes on with it.
    """
    clock = fleet.clock
    begun = clock.monotonic()
    end = begun + timeout_seconds
    lock = DrainLock(fleet.layout, clock)
    while not done():
        if lock.take(FIRST_LOOK_SECONDS):
            from fleet.drain.loop import Loop  # noqa: PLC0415  # watchfiles and structlog only where they are needed

            try:
                loop = Loop(fleet)
                loop.run(until=lambda: done() or clock.monotonic() >= end)
            finally:
                lock.give_back()
            if not loop.is_idle():  # asked when nobody can rely on this drain any more
                start_background(fleet)
        if done():
            return
        if clock.monotonic() >= end:
            raise TimedOut(f"{what}: not within {timeout_seconds:g} s; {outlook(fleet)}")
        clock.sleep(pause(clock.monotonic() - begun))


def outlook(fleet: Fleet) -> str:
    """What becomes of what is not done yet."""
    pid = DrainLock(fleet.layout, fleet.clock).suspended()
    return "the drain goes on with it" if pid is None else f"the drain is suspended: `kill -CONT {pid}` lets it go on"


def start_background(fleet: Fleet) -> bool:
    """Start a drain that ends when there is nothing left to do, unless one runs; whether this call started one."""
    if DrainLock(fleet.layout, fleet.clock).is_held():
        return False
    environ = {k: v for k, v in fleet.environ.items() if k not in ("FLEET_AGENT_ID", "TMUX", "TMUX_PANE")}
    subprocess.Popen(
        fleet.drain_argv("--until-idle"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True, env=environ | {"FLEET_HOME": fleet.layout.home}, cwd="/",
    )  # fmt: skip
    return True
