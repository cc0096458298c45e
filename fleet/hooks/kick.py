"""Starting a drain when something was queued and none runs. Without `subprocess`, which costs more than the hook.

The drain gets a session of its own (a client that kills its hook's process group does not reach it), /dev/null for
its standard files, none of the client's other descriptors, and a clean environment from the compiled configuration.
"""

from __future__ import annotations

import fcntl
import os

from fleet.formats.atomic import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout


def drain_runs(layout: Layout) -> bool:
    """Whether some process holds the drain lock."""
    lock = Lock(layout.drain_lock)
    try:
        return not lock.try_acquire()
    finally:
        lock.release()


def kick(layout: Layout, config: dict[str, Any], wall: float) -> bool:
    """Start a drain unless one runs or was started a moment ago; whether this call did it."""
    argv = config["drain_argv"]
    if not argv or drain_runs(layout):
        return False
    stamp = os.path.join(layout.run, "drain.kicked")
    try:
        if 0 <= wall - os.stat(stamp).st_mtime < config["kick_seconds"]:
            return False
    except OSError:
        pass
    devnull = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    env = {str(k): str(v) for k, v in config["drain_env"].items()} | {"FLEET_HOME": layout.home}
    _close_on_exec()
    try:
        os.posix_spawn(argv[0], argv, env, file_actions=devnull, setsid=True)
    except NotImplementedError:  # a libc without POSIX_SPAWN_SETSID: a process group of its own has to do
        os.posix_spawn(argv[0], argv, env, file_actions=devnull, setpgroup=0)
    os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    os.utime(stamp, (wall, wall))
    return True


def _close_on_exec() -> None:
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    for name in os.listdir(folder):
        if name.isdigit() and int(name) > 2:
            try:
                fcntl.fcntl(int(name), fcntl.F_SETFD, fcntl.FD_CLOEXEC)
            except OSError:
                continue
