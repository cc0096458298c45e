"""Whether a hook runs for the agent that FLEET_AGENT_ID names, and not for a client which that agent started.

A `claude -p` in the agent's own shell inherits FLEET_AGENT_ID, and with user-level hooks it would report as the
agent (Claude Code 2.1.197). So the first ancestor of the hook that is no shell must be the recorded engine.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "timeout", "nice"})
#: What npm's clients are wrapped in where their native binary was not found; the client is its direct child.
WRAPPERS = frozenset({"node", "bun", "deno"})
MAX_STEPS = 8


def look_up(pid: int) -> tuple[str, int] | None:
    """A process's program name and its parent; None when it cannot be found out."""
    return _stat(pid) if os.path.exists("/proc/self/stat") else ask_ps(pid)


def ask_ps(pid: int) -> tuple[str, int] | None:
    """The same by ps(1), where there is no /proc; 3 to 5 ms a step."""
    read, write = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    try:
        argv = ["ps", "-o", "ppid=,comm=", "-p", str(pid)]
        child = os.posix_spawn("/bin/ps", argv, {"PATH": "/usr/bin:/bin"}, file_actions=actions)
    except OSError:
        os.close(read)
        return None
    finally:
        os.close(write)
    with open(read, "rb") as f:
        parent, _, name = f.read().decode("utf-8", "replace").strip().partition(" ")
    os.waitpid(child, 0)
    return (os.path.basename(name.strip()).lstrip("-"), int(parent)) if parent.isdigit() else None


def _stat(pid: int) -> tuple[str, int] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            text = f.read().decode("utf-8", "replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1])


def ancestors(pid: int) -> dict[int, tuple[str, int] | None]:
    """What is to be known of *pid* and those above it, for a later `speaks_for`, when they may be gone."""
    known: dict[int, tuple[str, int] | None] = {}
    for _ in range(MAX_STEPS):
        known[pid] = found = look_up(pid)
        if found is None:
            break
        if found[0] not in SHELLS:
            known[found[1]] = look_up(found[1])
            break
        pid = found[1]
    return known


def speaks_for(
    engine_pid: int | None, parent: int | None = None, look: Callable[[int], tuple[str, int] | None] | None = None
) -> bool:
    """
    Whether the hook with that *parent* process (default: ours) was started by the engine *engine_pid*.

    A record without an engine pid (made by another dispatcher) is taken at its word.
    """
    if engine_pid is None:
        return True
    look = look or look_up
    pid = os.getppid() if parent is None else parent
    for _ in range(MAX_STEPS):
        if pid == engine_pid:
            return True
        found = look(pid)
        if found is None:
            return False
        if found[0] not in SHELLS:
            return found[1] == engine_pid and (look(engine_pid) or ("", 0))[0] in WRAPPERS
        pid = found[1]
    return False
