"""What lies between people, tmux and engines: the socket's folder, the locale, the keys, the clock."""

from __future__ import annotations

import os

from fleet.doctor.findings import Finding, Grade, Mend, problem
from fleet.errors import BadFile, Unreachable
from fleet.formats.times import parse
from fleet.model.watchdog import DRIFT_SECONDS
from fleet.observe.facts import is_of_another_boot
from fleet.process.table import boot_id
from fleet.store.watch import WatchStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.app import Fleet
    from fleet.observe.facts import Looker

AHEAD_SECONDS = 60.0  #: a record from further in the future was written under another clock


def socket_folder(fleet: Fleet, look: Looker) -> Iterator[Finding]:  # noqa: ARG001  # all checks have one shape
    """Who may reach the tmux server: whoever can write to its socket can type into every agent."""
    folder = os.path.dirname(fleet.socket)
    try:
        info = os.stat(folder)
    except FileNotFoundError:
        yield Finding("socket", Grade.NOTE, f"{folder} is not there yet; the first dispatch makes it")
        return
    mode = info.st_mode & 0o7777
    if info.st_uid not in (os.getuid(), 0):
        yield problem(
            "socket",
            f"{folder} belongs to user {info.st_uid}",
            "its owner can put another server in the place of yours",
            "fleet config set tmux.socket PATH, in a folder of your own",
        )
    elif mode & 0o022 and not mode & 0o1000:
        yield problem(
            "socket",
            f"{folder} can be written by others (mode {mode:o})",
            "they can put another server in the place of yours, and tmux refuses such a folder of its own",
            f"chmod 700 {folder}",
            Mend(f"chmod 700 {folder}", lambda: os.chmod(folder, 0o700)) if info.st_uid == os.getuid() else None,
        )
    else:
        yield Finding("socket", Grade.OK, fleet.socket)


def locale(fleet: Fleet, look: Looker) -> Iterator[Finding]:  # noqa: ARG001  # all checks have one shape
    """Whether a tmux client of yours draws what engines draw."""
    name = next((n for n in ("LC_ALL", "LC_CTYPE", "LANG") if fleet.environ.get(n)), None)
    value = fleet.environ.get(name, "") if name else ""
    if (name, value) == ("LC_CTYPE", "C.UTF-8") and fleet.environ.get("LANG", "") in ("", "C", "POSIX"):
        name, value = None, ""  # Python (PEP 538) put it there for itself; your shell does not have it
    if "utf8" in value.lower().replace("-", ""):
        yield Finding("locale", Grade.OK, f"{name}={value}")
    elif value in ("", "C", "POSIX"):
        words = f"{name}={value}" if name else "no locale is set"
        yield Finding("locale", Grade.NOTE, f"{words}: attached without `tmux -u` you see _ for lines and signs")
    else:
        yield problem(
            "locale",
            f"{name}={value} is not UTF-8",
            "tmux shows _ in the place of lines and signs, and names of files may come out wrong",
            "export LC_ALL=C.UTF-8",
        )


def keys(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    """Whether modified keys (Shift+Enter, Ctrl+Enter) reach an engine through tmux."""
    if look.snapshot(fleet.socket).error or not look.snapshot(fleet.socket).panes:
        return
    try:
        tmux = fleet.tmux_on(fleet.socket)
        shown = tmux.do("show-options", "-s", "-v", "extended-keys")
        style = tmux.do("show-options", "-s", "-q", "-v", "extended-keys-format")
    except Unreachable as e:
        yield Finding("keys", Grade.UNKNOWN, str(e))
        return
    on, csi = "".join(shown).strip(), "".join(style).strip()
    if on in ("on", "always") and csi in ("", "csi-u"):  # before 3.5 there is only one form
        yield Finding("keys", Grade.OK, f"extended-keys {on}" + (f", {csi}" if csi else ""))
        return
    lines = "set -s extended-keys on" + ("; set -s extended-keys-format csi-u" if csi else "")
    yield Finding("keys", Grade.NOTE, f"Shift+Enter does not reach engines; in tmux.conf: {lines}")


def clock(fleet: Fleet, look: Looker) -> Iterator[Finding]:  # noqa: ARG001  # all checks have one shape
    """A clock that was set or a machine that was started anew: times in files then say nothing."""
    now, agents = fleet.clock.wall(), fleet.agents.living().agents
    early = [a for a in agents if (parse(a.spawned_at) or 0.0) > now + AHEAD_SECONDS]
    if early:
        ahead = max((parse(a.spawned_at) or now) - now for a in early)
        yield problem(
            "clock",
            f"{len(early)} agents were started up to {ahead:.0f} s in the future",
            "ages and time limits come out wrong until the clock has caught up",
            "timedatectl status, and set the clock right",
        )
    try:
        seen = WatchStore(fleet.layout).read()
    except BadFile as e:
        yield Finding("clock", Grade.UNKNOWN, str(e))
        return
    before = [a for a in agents if is_of_another_boot(a)]
    if before:
        yield Finding(
            "clock", Grade.NOTE, f"the machine was started anew since {len(before)} agents were: fleet recover"
        )
    if seen is not None and seen.boot_id == boot_id():
        jump = (now - seen.at) - (fleet.clock.monotonic() - seen.monotonic)
        if abs(jump) > DRIFT_SECONDS:
            words = f"the clock jumped by {jump:+.0f} s since the watchdog last looked, or the machine slept"
            yield Finding("clock", Grade.NOTE, words)
            return
    if not early and not before:
        yield Finding("clock", Grade.OK, "as the watchdog knows it" if seen else "nothing speaks against it")
