"""The engines of a fleet home, found by what the kernel says of processes and by nothing that fleet wrote."""

import os
import signal
import time
from typing import NamedTuple


class Process(NamedTuple):
    """A living process that carries the marks of an agent."""

    pid: int
    parent: int
    start: str
    leader: bool  #: it leads its session, as what tmux starts in a pane does
    agent: str
    task: str
    kind: str  #: gate, engine, hook or child


def _read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def identity(pid):
    """Session id, start time and parent of a process; None when it is no more or only a zombie."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return int(fields[3]), fields[19].decode(), int(fields[1])


def _kind(pid, sid, words):
    line = b" ".join(words)
    if b"gate.py" in line:
        return "gate"
    if b"on_event" in line or b"hook_shim" in line:
        return "hook"
    if pid == sid and not words[0].endswith(b"/sh"):
        return "engine"
    return "child"


def look(pid, home):
    """The process when it belongs to an agent of that fleet home."""
    environ = _read(f"/proc/{pid}/environ")
    if os.fsencode(home) not in environ:
        return None
    marks = dict(item.split(b"=", 1) for item in environ.split(b"\0") if b"=" in item)
    if marks.get(b"FLEET_HOME") != os.fsencode(home) or b"FLEET_AGENT_ID" not in marks:
        return None
    words = _read(f"/proc/{pid}/cmdline").rstrip(b"\0").split(b"\0")
    found = identity(pid)
    if found is None or not words[0]:
        return None
    sid, start, parent = found
    agent, task = marks[b"FLEET_AGENT_ID"].decode(), marks.get(b"FLEET_TASK", b"").decode()
    return Process(pid, parent, start, pid == sid, agent, task, _kind(pid, sid, words))


def pids():
    """Every process of this machine."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def of_home(home, ignore=frozenset()):
    """All living processes of the home's agents, but for the pids in *ignore*."""
    found = {pid: one for pid in pids() if pid not in ignore and (one := look(pid, home)) is not None}
    # What an engine has just forked looks like the engine until it executes something.
    return [one._replace(kind="child") if one.parent in found else one for one in found.values()]


def naming(text):
    """All living processes that have *text* somewhere in their environment or command line, but for this one."""
    wanted = os.fsencode(text)
    found = []
    for pid in pids():
        if pid != os.getpid() and wanted in _read(f"/proc/{pid}/environ") + _read(f"/proc/{pid}/cmdline"):
            known = identity(pid)
            if known is not None:
                found.append((pid, known[1]))
    return found


def kill(pid, start, number=signal.SIGKILL):
    """Signal that very process; whether it was there."""
    found = identity(pid)
    if found is None or found[1] != start:
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def kill_and_wait(victims, seconds=5.0):
    """SIGKILL processes given as (pid, start), and return when they are no more; how many there were."""
    hit = [one for one in victims if kill(*one)]
    end = time.monotonic() + seconds
    while any((now := identity(pid)) is not None and now[1] == start for pid, start in hit):
        if time.monotonic() > end:
            raise AssertionError(f"not dead within {seconds} s of SIGKILL: {hit}")
        time.sleep(0.002)
    return len(hit)
