"""Whether a hook runs for the agent that FLEET_AGENT_ID names, and not for a client which that agent started.

A `claude -p` in the agent's own shell inherits FLEET_AGENT_ID, and with user-level hooks it would report as the
agent (Claude Code 2.1.197). So the first ancestor of the hook that is no shell must be the recorded engine. Where
the process table cannot be read this way (no /proc), the parent itself must be.
"""

from __future__ import annotations

import os

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "timeout", "nice"})
MAX_STEPS = 8


def _stat(pid: int) -> tuple[str, int] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            text = f.read().decode("utf-8", "replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1])


def speaks_for(engine_pid: int | None, parent: int | None = None) -> bool:
    """
    Whether the hook with that *parent* process (default: ours) was started by the engine *engine_pid*.

    A record without an engine pid (made by another dispatcher) is taken at its word.
    """
    if engine_pid is None:
        return True
    pid = os.getppid() if parent is None else parent
    for _ in range(MAX_STEPS):
        if pid == engine_pid:
            return True
        found = _stat(pid)
        if found is None or found[0] not in SHELLS:
            return False
        pid = found[1]
    return False
