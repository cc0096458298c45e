"""Running git: with a deadline, without prompts, pager, editor or the caller's GIT_* variables.

Seen with git 2.39.5: an empty GIT_ASKPASS turns core.askPass and SSH_ASKPASS off as well; GIT_SSH_COMMAND outranks
core.sshCommand, so the user's own is carried over with BatchMode added. Each call is a session of its own (no
terminal to ask on) and writes into files, not pipes: a daemon that a hook leaves behind keeps a pipe open for ever.
Whatever reads the list of worktrees (`worktree list`, `branch`) dies while another git registers one ("failed to read
.git/worktrees/x/commondir: Success": it is there and still empty); such a call is made again.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass
from types import MappingProxyType

from fleet.clock import SystemClock, pause
from fleet.errors import EnvironmentMissing, Refused, TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

REGISTERING_SECONDS = 2.0  #: how long another git may take to register a worktree; one that was killed never ends
_REGISTERING = re.compile(r"^fatal: failed to read \S*worktrees/[^/]+/commondir: Success$", re.MULTILINE)
LOOK_SECONDS = 60.0  #: status of 100,000 files on a cold disk takes some
MARK = "FLEET_WORKTREE_OPERATION"  #: by which what a killed fleet left running is found
QUIET = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "GCM_INTERACTIVE": "never", "GIT_PAGER": "cat", "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C",
}  # fmt: skip
#: A daemon or a cache that answers for the disk could hide what is lost when a tree is removed.
ALWAYS = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "gc.auto=0", "-c",
          "maintenance.auto=false", "-c", "advice.detachedHead=false")  # fmt: skip


class GitFailed(Refused):
    """Git refused."""

    def __init__(self, what: str, done: Done) -> None:
        super().__init__(f"git {what}: {done.reason()}")
        self.done = done


@dataclass(frozen=True, slots=True)
class Done:
    """How a call ended."""

    status: int
    out: str
    err: str

    def reason(self) -> str:
        """What git (or a hook of it) said last that reads like a reason."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        for mark in ("fatal: ", "error: "):
            for line in lines:
                if line.startswith(mark):
                    return line.removeprefix(mark)
        return lines[-1] if lines else f"it ended with status {self.status}"


def quiet(environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without GIT_* and without anything that could ask."""
    drop = ("SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY_ASKPASS")
    return {k: v for k, v in environ.items() if not k.startswith("GIT_") and k not in drop} | QUIET


class Leash:
    """By which one thread ends what another runs; after that, nothing more is started by it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False

    def start(self, argv: list[str], **how: Any) -> subprocess.Popen[bytes]:
        """Start the leader of a session of its own. Raises CancelledError after the end."""
        with self._lock:
            if self._ended:
                raise CancelledError
            self._process = subprocess.Popen(argv, start_new_session=True, **how)
            return self._process

    def end(self) -> None:
        """Kill what runs now, with all that it started."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                _kill(self._process)


class Git:
    """Git in one folder."""

    def __init__(
        self,
        folder: str,
        environ: Mapping[str, str],
        *,
        mark: str | None = None,
        own: Mapping[str, str] = MappingProxyType({}),
        leash: Leash | None = None,
    ) -> None:
        """
        Args:
            mark: what the processes of this call carry in MARK.
            own: GIT_* variables for these calls, such as another index.
            leash: what another thread may end the calls by.

        Raises:
            EnvironmentMissing: there is no git on PATH.
        """  # noqa: D205  # the class says what it is
        self.folder = folder
        self.environ = environ
        self.mark = mark
        self.own = own
        self._leash = leash or Leash()
        found = shutil.which("git", path=environ.get("PATH", os.defpath))
        if found is None:
            raise EnvironmentMissing("git is not installed: no 'git' on PATH", hint="install git")
        self._binary = found

    def at(self, folder: str) -> Git:
        """The same in another folder."""
        return Git(folder, self.environ, mark=self.mark, own=self.own, leash=self._leash)

    def on(self, leash: Leash) -> Git:
        """The same, for another thread."""
        return Git(self.folder, self.environ, mark=self.mark, own=self.own, leash=leash)

    def run(self, *args: str, seconds: float = LOOK_SECONDS, network: bool = False) -> str:
        """
        Run one call that must succeed; its standard output.

        Raises:
            GitFailed: it did not.
            TimedOut: not within *seconds*; it was ended with all it had started.
        """
        done = self.ask(*args, seconds=seconds, network=network)
        if done.status != 0:
            raise GitFailed(next((a for a in args if not a.startswith("-") and "=" not in a), ""), done)
        return done.out

    def holds(self, *args: str) -> bool:
        """
        Whether a call that answers by its status says yes (0) or no (1).

        Raises:
            GitFailed: it could not tell.
        """
        done = self.ask(*args)
        if done.status not in (0, 1):
            raise GitFailed(args[0], done)
        return done.status == 0

    def ask(self, *args: str, seconds: float = LOOK_SECONDS, network: bool = False) -> Done:
        """Run one call, again while another git registers a worktree; how it ended. Raises TimedOut as `run`."""
        clock = SystemClock()
        begin = clock.monotonic()
        while True:
            done = self._once(*args, seconds=seconds, network=network)
            waited = clock.monotonic() - begin
            if done.status == 0 or waited > REGISTERING_SECONDS or not _REGISTERING.search(done.err):
                return done
            clock.sleep(pause(waited))

    def _once(self, *args: str, seconds: float, network: bool) -> Done:
        env = {**quiet(self.environ), **self.own}
        if self.mark:
            env[MARK] = self.mark
        if network:
            env["GIT_SSH_COMMAND"] = self._ssh()
        argv = [self._binary, "--no-pager", "--no-optional-locks", *ALWAYS, "-C", self.folder, *args]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self._leash.start(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd="/")
            status = wait(process, seconds, f"`git {args[0]}`")
            out.seek(0)
            err.seek(0)
            return Done(status, os.fsdecode(out.read()), os.fsdecode(err.read()))

    def _ssh(self) -> str:
        own = self.ask("config", "--get", "core.sshCommand").out.strip()
        command = own or "ssh"
        name = os.path.basename(command.split()[0])
        return f"{command} -oBatchMode=yes -oConnectTimeout=10" if name.startswith("ssh") else command


def wait(process: subprocess.Popen[bytes], seconds: float, what: str) -> int:
    """
    The status of *process*, which leads a session of its own.

    Raises:
        TimedOut: not within *seconds*; its process group was killed.
    """
    try:
        return process.wait(max(seconds, 0.0))
    except subprocess.TimeoutExpired as e:
        raise TimedOut(f"{what} took longer than {seconds:g} s") from e
    finally:
        if _kill(process):
            process.wait()


def _kill(process: subprocess.Popen[bytes]) -> bool:
    """Kill the group of a process that runs; whether it did."""
    if process.poll() is not None:
        return False
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return True
