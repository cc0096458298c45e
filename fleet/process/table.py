"""The processes of this machine, read once and asked often.

An engine is all processes whose session id (sid) is its pane's pid: npm's `codex` is a wrapper whose kill -9 leaves
the real one working. While such a process lives the kernel does not give that number to anybody else; so a leader
with another start time means that the session is over. On Linux one pass over /proc/<pid>/stat (3 ms for 200
processes); elsewhere psutil.
"""

from __future__ import annotations

import functools
import os
import sys

from fleet.errors import Unreachable
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LINUX = sys.platform == "linux"


class Process(NamedTuple):
    """One process as it was when the table was read."""

    pid: int
    ppid: int
    sid: int
    start: str  #: `linux-stat:<ticks>` or `psutil:<seconds>`; comparable within one boot
    name: str
    zombie: bool
    cpu_seconds: float
    memory_bytes: int
    wait_status: int | None = None  #: of a zombie: how it ended, as wait(2) would tell its parent


class ProcessTable:
    """A snapshot."""

    def __init__(self, processes: Iterable[Process]) -> None:
        self.by_pid = {p.pid: p for p in processes}
        self._children: dict[int, list[Process]] | None = None
        self._sessions: dict[int, list[Process]] | None = None

    def session(self, leader: int | None, start: str | None) -> list[Process]:
        """The living processes of the session that *leader* (with that start time) leads or led."""
        if not leader:
            return []
        found = self.by_pid.get(leader)
        if found is not None and start is not None and found.start != start:
            return []
        if self._sessions is None:
            self._sessions = {}
            for process in self.by_pid.values():
                if not process.zombie:
                    self._sessions.setdefault(process.sid, []).append(process)
        return list(self._sessions.get(leader, ()))

    def tree(self, pids: Iterable[int]) -> list[Process]:
        """Those processes and all their descendants."""
        if self._children is None:
            self._children = {}
            for process in self.by_pid.values():
                self._children.setdefault(process.ppid, []).append(process)
        todo = [self.by_pid[pid] for pid in pids if pid in self.by_pid]
        seen: dict[int, Process] = {}
        while todo:
            process = todo.pop()
            if process.pid not in seen:
                seen[process.pid] = process
                todo += self._children.get(process.pid, ())
        return list(seen.values())


_TICK = os.sysconf("SC_CLK_TCK") if LINUX else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if LINUX else 4096


def _linux(pid: int | str) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            head, _, rest = f.read().rpartition(b")")
    except OSError:
        return None
    fields = rest.split()
    number, _, name = head.partition(b" (")
    return Process(
        pid=int(number), ppid=int(fields[1]), sid=int(fields[3]), start="linux-stat:" + fields[19].decode(),
        name=name.decode("utf-8", "replace"), zombie=fields[0] in (b"Z", b"X"),
        cpu_seconds=(int(fields[11]) + int(fields[12])) / _TICK, memory_bytes=int(fields[21]) * _PAGE,
        wait_status=int(fields[49]) if fields[0] == b"Z" and len(fields) > 49 else None,
    )  # fmt: skip


def _portable(pid: int) -> Process | None:
    import psutil  # noqa: PLC0415  # Linux does without

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times, memory = process.cpu_times(), process.memory_info()
            return Process(
                pid=pid, ppid=process.ppid(), sid=os.getsid(pid), start=f"psutil:{process.create_time():.2f}",
                name=process.name(), zombie=process.status() == psutil.STATUS_ZOMBIE,
                cpu_seconds=times.user + times.system, memory_bytes=memory.rss,
            )  # fmt: skip
    except (psutil.Error, OSError):
        return None


def read_process(pid: int) -> Process | None:
    """One process now; None when there is no such process."""
    return _linux(pid) if LINUX else _portable(pid)


def lives(pid: int, start: str | None) -> bool:
    """Whether that very process lives now; a zombie does not."""
    process = read_process(pid)
    return process is not None and not process.zombie and process.start == start


def read_table() -> ProcessTable:
    """
    All processes now.

    Raises:
        Unreachable: the process table could not be read; nothing may be concluded.
    """
    if LINUX:
        try:
            pids = [name for name in os.listdir("/proc") if name.isdigit()]
        except OSError as e:
            raise Unreachable(f"cannot read /proc: {e.strerror}") from e
        return ProcessTable(p for pid in pids if (p := _linux(pid)) is not None)
    import psutil  # noqa: PLC0415  # paid only where it is used

    return ProcessTable(p for pid in psutil.pids() if (p := _portable(pid)) is not None)


def own_identity() -> dict[str, object]:
    """This process as {"pid", "pid_start"}."""
    me = read_process(os.getpid())
    return {"pid": os.getpid(), "pid_start": me.start if me else None}


def environment_marks(pid: int) -> dict[str, str] | None:
    """The FLEET_* variables that a process was started with; None where they cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            items = f.read().split(b"\0")
    except OSError:
        return None
    pairs = (item.decode("utf-8", "replace").partition("=") for item in items if item.startswith(b"FLEET_"))
    return {name: value for name, _, value in pairs}


def folder_of(pid: int) -> str | None:
    """The working directory of a process; None where that cannot be read."""
    if LINUX:
        try:
            return os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return None
    import psutil  # noqa: PLC0415  # Linux does without

    try:
        return str(psutil.Process(pid).cwd())
    except (psutil.Error, OSError):
        return None


def program_of(pid: int) -> str | None:
    """The file that a process runs; None where that cannot be read."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def arguments_of(pid: int) -> list[str]:
    """A process's arguments; empty where they cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return []


def boot_id() -> str:
    """What changes with every boot of this machine."""
    known = _kernels_boot_id()
    if known is not None:
        return known
    import psutil  # noqa: PLC0415  # paid only where it is used

    return f"boot:{psutil.boot_time():.0f}"


@functools.cache
def _kernels_boot_id() -> str | None:
    """Linux's own, which no process outlives; None where there is none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return None


def is_suspended(pid: int, start: str) -> bool:
    """Whether that very process was stopped by a signal (SIGSTOP, Ctrl-Z); False when that cannot be told."""
    import psutil  # noqa: PLC0415  # only where somebody waited in vain, or asks

    found = read_process(pid)
    if found is None or found.start != start:
        return False
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except (psutil.Error, OSError):
        return False
