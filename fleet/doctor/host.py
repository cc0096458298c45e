"""What a fleet stands on: tmux, its home, memory and disk."""

from __future__ import annotations

import os
import shutil

from fleet import config
from fleet.dispatch.limits import MEGABYTE, available_memory, places_left
from fleet.doctor.findings import Finding, Grade, Mend, problem
from fleet.errors import EnvironmentMissing, FleetError, Unreachable
from fleet.tmux.client import check_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.app import Fleet
    from fleet.observe.facts import Looker


def tmux(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    """The client, and the server that runs: a server of another version keeps running after an upgrade."""
    try:
        client = check_version(fleet.tmux_binary)
    except (EnvironmentMissing, Unreachable) as e:
        yield problem("tmux", str(e), "fleet runs agents in tmux", e.hint or "install tmux 3.2 or newer")
        return
    yield Finding("tmux", Grade.OK, f"tmux {client}")
    snapshot = look.snapshot(fleet.socket)
    if snapshot.error:
        yield Finding("tmux", Grade.UNKNOWN, f"the server on {fleet.socket} does not answer: {snapshot.error}")
        return
    server = next((pane.version for pane in snapshot.panes), None)
    if server is None:
        yield Finding("tmux", Grade.NOTE, f"no server runs on {fleet.socket}")
    elif server != client:
        yield problem(
            "tmux",
            f"the server on {fleet.socket} is tmux {server}, the client is {client}",
            "client and server of two versions may refuse each other or misunderstand options",
            "when your agents have ended: tmux kill-server",
        )
    if server is not None:
        yield from _exit_unattached(fleet)


def _exit_unattached(fleet: Fleet) -> Iterator[Finding]:
    try:
        shown = fleet.tmux_on(fleet.socket).do("show-options", "-s", "-v", "exit-unattached")
    except Unreachable as e:
        yield Finding("tmux", Grade.UNKNOWN, str(e))
        return
    if shown.strip() == "on":
        yield problem(
            "tmux",
            "the option exit-unattached is on",
            "the server ends, and every agent with it, as soon as nobody is attached",
            f"tmux -S {fleet.socket} set -s exit-unattached off, and the same in tmux.conf",
        )


def home(fleet: Fleet, look: Looker) -> Iterator[Finding]:  # noqa: ARG001  # all checks have one shape
    """FLEET_HOME, its mode, and the settings in it."""
    path = fleet.layout.home
    if not os.path.isdir(path):
        yield Finding("home", Grade.NOTE, f"{path} is not there yet; the first dispatch makes it")
        return
    mode = os.stat(path).st_mode & 0o777
    if not os.access(path, os.W_OK | os.X_OK):
        yield problem("home", f"{path} cannot be written", "nothing can be kept", f"chmod u+rwx {path}")
    elif mode & 0o077:
        yield problem(
            "home",
            f"{path} is open to others (mode {mode:o})",
            "it holds prompts, environments and transcripts' paths",
            f"chmod 700 {path}",
            Mend(f"chmod 700 {path}", lambda: os.chmod(path, 0o700)),
        )
    else:
        yield Finding("home", Grade.OK, path)
    try:
        fleet.settings_in(os.getcwd())
    except FleetError as e:
        yield problem(
            "home", str(e), "every command that needs a setting refuses to work", e.hint or "fleet config edit"
        )


def room(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    """Memory, disk and sessions, against what a start asks for."""
    try:
        settings = fleet.settings
    except FleetError:
        settings = config.load(fleet.layout.__class__("/nonexistent"), {})
    free = available_memory() / MEGABYTE
    need = settings.number("limits.min_free_memory_mb")
    yield (
        Finding("memory", Grade.OK, f"{free:.0f} MB free")
        if free >= need
        else problem(
            "memory",
            f"{free:.0f} MB of memory are free, a start asks for {need:.0f}",
            "no agent can be started",
            "fleet stop AGENT, or fleet config set limits.min_free_memory_mb N",
        )
    )
    if os.path.isdir(fleet.layout.home):
        left = shutil.disk_usage(fleet.layout.home).free / MEGABYTE
        need = settings.number("limits.min_free_disk_mb")
        yield (
            Finding("disk", Grade.OK, f"{left:.0f} MB free")
            if left >= need
            else problem(
                "disk",
                f"{left:.0f} MB of disk are free in {fleet.layout.home}, a start asks for {need:.0f}",
                "no agent can be started, and handoff documents may not be written",
                f"du -sh {fleet.layout.home}/*",
            )
        )
    allowed = int(settings["limits.max_sessions"])
    try:
        left_places = places_left(look.snapshot(fleet.socket), settings)
    except Unreachable:
        return  # that tmux does not answer is told elsewhere
    if left_places <= 0:
        yield problem(
            "sessions",
            f"{allowed - left_places} agents' sessions are there, {allowed} are allowed",
            "no agent can be started",
            "fleet stop AGENT, or fleet config set limits.max_sessions N",
        )
