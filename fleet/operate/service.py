"""The drain loop as a service of the user's: what is written where, and the commands that make it count.

systemd 252: `systemctl --user` needs XDG_RUNTIME_DIR with a bus; where it is missing there is no user manager to talk
to. A unit's environment is not the shell's: PATH and what fleet reads are written into it. launchd: `bootstrap` and
`bootout` of the domain gui/<uid>. The unit of a fleet home that is not the default one carries a digest of its path.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import plistlib
import shutil
import subprocess
import sys
from typing import Protocol

from fleet.drain.carry import detached_session
from fleet.drain.lock import DrainLock
from fleet.errors import EnvironmentMissing, FleetError, Refused
from fleet.formats.atomic import ensure_dir, read_bytes, remove_file, write_file
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.app import Fleet

ANSWER_SECONDS = 30
KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TMUX_TMPDIR",
    "FLEET_TMUX_SOCKET",
    "FLEET_TMUX_BIN",
    "FLEET_MAX_SESSIONS",
)


class Done(NamedTuple):
    """What became of it."""

    kind: str
    state: str  #: running, stopped or absent
    file: str | None
    notes: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "notes": list(self.notes)}


class Manager(Protocol):
    """One way of keeping it running."""

    def file(self) -> tuple[str | None, str]:
        """Where its description lies, and the text."""

    def install(self) -> dict[str, Any]:
        """Describe and start it. Safe to repeat."""

    def uninstall(self) -> dict[str, Any]:
        """Stop it and take the description away. Safe to repeat."""

    def status(self) -> dict[str, Any]:
        """How it stands."""


def manager(fleet: Fleet, kind: str | None = None) -> Manager:
    """The way that this machine has, or the one that was named."""
    kind = kind or _available(fleet)
    if kind == "systemd":
        return Systemd(fleet)
    return Launchd(fleet) if kind == "launchd" else InTmux(fleet)


def described(fleet: Fleet) -> list[Manager]:
    """The managers that have a description of this home's drain: what uninstalling must not leave behind."""
    found: list[Manager] = [Systemd(fleet), Launchd(fleet)]
    return [one for one in found if os.path.exists(str(one.file()[0]))]


def _available(fleet: Fleet) -> str:
    if sys.platform == "darwin":
        return "launchd"
    if shutil.which("systemctl", path=fleet.environ.get("PATH")) is None:
        return "tmux"
    environ = {**os.environ, **fleet.environ}
    done = subprocess.run(["systemctl", "--user", "show-environment"], env=environ, capture_output=True, check=False,
                          timeout=ANSWER_SECONDS)  # fmt: skip
    return "systemd" if done.returncode == 0 else "tmux"


def _name(fleet: Fleet) -> str:
    """`fleet-drain`, with a digest of the home's path where that is not the default one."""
    default = os.path.join(os.path.expanduser("~"), ".fleet")
    if fleet.layout.home == default:
        return "fleet-drain"
    return "fleet-drain-" + hashlib.sha256(os.fsencode(fleet.layout.home)).hexdigest()[:8]


def _environment(fleet: Fleet) -> dict[str, str]:
    kept = {name: fleet.environ[name] for name in KEPT if fleet.environ.get(name)}
    return {**kept, "FLEET_HOME": fleet.layout.home}


def _run(fleet: Fleet, *argv: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(argv, env={**os.environ, **fleet.environ}, capture_output=True, text=True,
                              timeout=ANSWER_SECONDS, check=False)  # fmt: skip
    except FileNotFoundError as e:
        raise EnvironmentMissing(f"{argv[0]} is not installed", hint="`fleet service install --kind tmux`") from e


def _must(fleet: Fleet, *argv: str) -> None:
    done = _run(fleet, *argv)
    if done.returncode:
        raise Refused(f"{' '.join(argv)}: {' '.join(done.stderr.split()) or done.returncode}")


@contextlib.contextmanager
def _described(fleet: Fleet, program: str, path: str | None, text: str) -> Iterator[None]:
    """
    Have the description at *path* for what follows, and as it was before when that fails.

    Raises:
        EnvironmentMissing: the manager's program is not there; nothing was written.
    """
    assert path is not None
    if shutil.which(program, path=fleet.environ.get("PATH")) is None:
        raise EnvironmentMissing(f"{program} is not installed", hint="`fleet service install --kind tmux`")
    try:
        before = read_bytes(path)
    except FileNotFoundError:
        before = None
    ensure_dir(os.path.dirname(path))
    write_file(path, text.encode())
    try:
        yield
    except FleetError:
        if before is None:
            remove_file(path)
        else:
            write_file(path, before)
        raise


class Systemd:
    """A user unit."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._unit = _name(fleet) + ".service"
        base = fleet.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
        self._path = os.path.join(base, "systemd", "user", self._unit)

    def file(self) -> tuple[str | None, str]:
        """The unit. KillMode=process: agents that the drain starts are tmux's children, and must outlive it."""
        command = " ".join(_quoted(word) for word in self._fleet.drain_argv())
        variables = "".join(f"Environment={_quoted(f'{k}={v}')}\n" for k, v in _environment(self._fleet).items())
        return self._path, (
            f"[Unit]\nDescription=fleet drain loop of {self._fleet.layout.home}\n\n"
            f"[Service]\nExecStart={command}\n{variables}Restart=on-failure\nRestartSec=5\nKillMode=process\n\n"
            "[Install]\nWantedBy=default.target\n"
        )

    def install(self) -> dict[str, Any]:
        """Write, enable and start; a unit that is there already is brought up to date."""
        with _described(self._fleet, "systemctl", *self.file()):
            _must(self._fleet, "systemctl", "--user", "daemon-reload")
            _must(self._fleet, "systemctl", "--user", "enable", self._unit)
            _must(self._fleet, "systemctl", "--user", "restart", self._unit)
        return self.status()

    def uninstall(self) -> dict[str, Any]:
        """Stop, disable, remove."""
        if os.path.exists(self._path):
            _run(self._fleet, "systemctl", "--user", "disable", "--now", self._unit)
            remove_file(self._path)
            _run(self._fleet, "systemctl", "--user", "daemon-reload")
        return Done("systemd", "absent", None).as_data()

    def status(self) -> dict[str, Any]:
        """By systemd's own account."""
        if not os.path.exists(self._path):
            return Done("systemd", "absent", None).as_data()
        active = _run(self._fleet, "systemctl", "--user", "is-active", self._unit).stdout.strip()
        notes = () if self._lingers() else ("it ends with your last login: `loginctl enable-linger` keeps it",)
        return Done("systemd", "running" if active == "active" else "stopped", self._path, notes).as_data()

    def _lingers(self) -> bool:
        return os.path.exists(f"/var/lib/systemd/linger/{self._fleet.environ.get('USER', '')}")


def _quoted(word: str) -> str:
    """A word as systemd.syntax(7) reads it back: quotes, escapes, and no specifiers or variables."""
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$") + '"'


class Launchd:
    """A launch agent."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._label = "dev.tmux-fleet." + _name(fleet)
        self._path = os.path.join(os.path.expanduser("~"), "Library", "LaunchAgents", self._label + ".plist")
        self._domain = f"gui/{os.getuid()}"

    def file(self) -> tuple[str | None, str]:
        """The property list."""
        data = {
            "Label": self._label, "ProgramArguments": self._fleet.drain_argv(), "RunAtLoad": True,
            "EnvironmentVariables": _environment(self._fleet), "KeepAlive": {"SuccessfulExit": False},
            "AbandonProcessGroup": True,
        }  # fmt: skip
        return self._path, plistlib.dumps(data).decode()

    def install(self) -> dict[str, Any]:
        """Write and bootstrap, after taking an earlier one down."""
        with _described(self._fleet, "launchctl", *self.file()):
            _run(self._fleet, "launchctl", "bootout", f"{self._domain}/{self._label}")
            _must(self._fleet, "launchctl", "bootstrap", self._domain, self._path)
        return self.status()

    def uninstall(self) -> dict[str, Any]:
        """Take it down and remove it."""
        if os.path.exists(self._path):
            _run(self._fleet, "launchctl", "bootout", f"{self._domain}/{self._label}")
            remove_file(self._path)
        return Done("launchd", "absent", None).as_data()

    def status(self) -> dict[str, Any]:
        """By launchd's own account."""
        if not os.path.exists(self._path):
            return Done("launchd", "absent", None).as_data()
        known = _run(self._fleet, "launchctl", "print", f"{self._domain}/{self._label}")
        running = known.returncode == 0 and "state = running" in known.stdout
        return Done("launchd", "running" if running else "stopped", self._path).as_data()


class InTmux:
    """`fleet drain --detach`: a tmux session of its own, gone after a reboot."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def file(self) -> tuple[str | None, str]:
        """Nothing is written."""
        return None, ""

    def install(self) -> dict[str, Any]:
        """Start it; a drain that runs only as long as there is something to do gives way."""
        if not self._stands():
            if self._lock().is_held():
                _must(self._fleet, *self._fleet.drain_argv("--stop"))
            _must(self._fleet, *self._fleet.drain_argv("--detach"))
        return self.status()

    def uninstall(self) -> dict[str, Any]:
        """Stop it."""
        if self._stands() and self._lock().is_held():
            _must(self._fleet, *self._fleet.drain_argv("--stop"))
        return Done("tmux", "absent", None).as_data()

    def status(self) -> dict[str, Any]:
        """Whether the session stands and a drain runs."""
        if not self._stands():
            return Done("tmux", "absent", None).as_data()
        notes = ("a tmux session ends with a reboot: install it again then",)
        return Done("tmux", "running" if self._lock().is_held() else "stopped", None, notes).as_data()

    def _stands(self) -> bool:
        session = detached_session(self._fleet.layout)
        return any(not pane.dead for pane in self._fleet.looker().snapshot(None).by_session.get(session, []))

    def _lock(self) -> DrainLock:
        return DrainLock(self._fleet.layout, self._fleet.clock)
