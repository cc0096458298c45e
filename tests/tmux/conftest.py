"""One server after another: the double, the installed tmux, and the other versions from the test cache."""

import os
import shutil
import subprocess
import tempfile
import time

import pytest

from fleet.tmux.client import Tmux
from fleet.tmux.panes import TmuxPanes
from tests.agents.world import CACHE
from tests.doubles import MemoryPanes

VERSIONS = {"installed": "tmux", "3.5a": str(CACHE / "tmux-trixie" / "tmux"), "3.8": str(CACHE / "tmux-sid" / "tmux")}
#: A configuration that has broken other tools.
HOSTILE = """
set -g base-index 1
setw -g pane-base-index 1
set -g renumber-windows on
set -g default-shell {shell}
set -g mouse on
set -g status off
set -g prefix C-a
set -g remain-on-exit off
set -g destroy-unattached on
setw -g aggressive-resize on
set -g detach-on-destroy off
set -g set-titles on
set -g automatic-rename on
set -g no-such-option broken
"""


class Bench:
    """A server under test, with a place for its programs."""

    def __init__(self, panes, folder):
        self.panes = panes
        self.folder = folder

    def open(self, agent_id, *argv, cwd=None, **environment):
        """Open an agent's session that runs *argv*."""
        known = {"FLEET_HOME": str(self.folder / "home"), **environment}
        return self.panes.open(agent_id, argv, cwd=str(cwd or self.folder), environment=known)

    def until(self, condition, seconds=15):
        """The first true value of *condition*."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := condition():
                return value
            time.sleep(0.02)
        raise AssertionError(f"not within {seconds} s")

    def pane(self, agent_id):
        """The agent's pane now."""
        return self.panes.snapshot().of_agent(agent_id)


def tmux_server(binary, folder, config=None):
    """A server of its own; its keeper session keeps it, and its configuration, alive."""
    tmux = Tmux(os.path.join(folder, "s"), binary=binary)
    if config is not None:
        path = os.path.join(folder, "tmux.conf")
        with open(path, "w") as f:
            f.write(config)
        subprocess.run([binary, "-u", "-S", tmux.socket, "-f", path, "new-session", "-d", "-s", "keeper", "sleep", "600",
                        ";", "set-option", "-t", "=keeper:", "destroy-unattached", "off"], check=True,
                       capture_output=True, timeout=20)  # fmt: skip
    return tmux


@pytest.fixture(params=["memory", "installed", "3.5a", "3.8", "fish", "zsh"])
def bench(request, tmp_path):
    """A contract holds on every one of these."""
    kind = request.param
    if kind == "memory":
        panes = MemoryPanes()
        yield Bench(panes, tmp_path)
        panes.end_all()
        return
    binary = VERSIONS.get(kind, "tmux")
    if not shutil.which(binary):
        pytest.skip(f"tmux {kind} is not there: scripts/get-tmux")
    config = None
    if kind in ("fish", "zsh"):
        if not (shell := shutil.which(kind)):
            pytest.skip(f"{kind} is not installed")
        config = HOSTILE.format(shell=shell)
    folder = tempfile.mkdtemp(prefix="ft", dir="/tmp")
    tmux = tmux_server(binary, folder, config)
    yield Bench(TmuxPanes(tmux), tmp_path)
    tmux.ask("kill-server")
    shutil.rmtree(folder, ignore_errors=True)
