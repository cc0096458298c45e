"""The object graph: the one place where parts are put together. What is costly is made when it is first asked for."""

from __future__ import annotations

import functools
import os
import sys

from fleet import config
from fleet.clock import SystemClock
from fleet.errors import EnvironmentMissing
from fleet.formats.layout import Layout
from fleet.observe.facts import Looker
from fleet.process.table import read_process
from fleet.store.agents import AgentStore
from fleet.store.journal import Journal
from fleet.tmux.client import Tmux, default_socket
from fleet.tmux.panes import TmuxPanes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.clock import Clock
    from fleet.dispatch.starter import Starter
    from fleet.model.panes import Panes


class Fleet:
    """One FLEET_HOME on this host."""

    def __init__(self, environ: Mapping[str, str], clock: Clock | None = None) -> None:
        self.environ = dict(environ)
        self.clock: Clock = clock or SystemClock()
        self.layout = Layout(config.fleet_home(environ))
        self.tmux_binary = environ.get("FLEET_TMUX_BIN") or "tmux"
        self.agents = AgentStore(self.layout)
        self.journal = Journal(self.layout, self.clock)

    @functools.cached_property
    def settings(self) -> config.Settings:
        """The settings in force."""
        return config.load(self.layout, self.environ)

    @functools.cached_property
    def socket(self) -> str:
        """The tmux server that new agents go to."""
        return str(self.settings["tmux.socket"] or default_socket(self.environ))

    @functools.cached_property
    def starter(self) -> Starter:
        """What starts agents."""
        from fleet.dispatch.starter import Starter  # noqa: PLC0415  # paid only where it is used

        return Starter(self.layout, self.agents, self.journal, self.clock, self.panes_on)

    def make_home(self) -> None:
        """
        Make the folders of the fleet home.

        Raises:
            EnvironmentMissing: it cannot be made or written.
        """
        try:
            self.layout.make()
        except OSError as e:
            raise EnvironmentMissing(
                f"FLEET_HOME {self.layout.home} cannot be made: {e.strerror}",
                hint="name another folder with FLEET_HOME",
            ) from e

    def tmux_on(self, socket: str) -> Tmux:
        """The tmux server on a socket, for what is tmux's alone."""
        return Tmux(socket, binary=self.tmux_binary)

    def panes_on(self, socket: str) -> Panes:
        """The panes of the server on a socket."""
        return TmuxPanes(self.tmux_on(socket), self.clock)

    def looker(self) -> Looker:
        """A new look at this host."""
        return Looker(self.layout, self.journal, self.panes_on, lambda: self.socket, self.clock.wall)

    def drain_argv(self, *args: str) -> list[str]:
        """How another process starts a drain."""
        boot = "import sys; sys.path.insert(0, sys.argv.pop(1)); from fleet.cli.main import entry; entry()"
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return [sys.executable, "-c", boot, package, "drain", *args]

    def reload(self) -> None:
        """Read the settings anew at their next use."""
        self.__dict__.pop("settings", None)

    def compile_hooks(self) -> None:
        """Write what hooks need of the settings."""
        data = config.hook_config(self.settings, self.drain_argv("--until-idle"), self.environ)
        config.compile_hooks(self.layout, data)

    def owner_lives(self, start: Mapping[str, Any]) -> bool:
        """Whether the process that journaled a start is still that process."""
        owner = start.get("owner")
        if not isinstance(owner, dict) or not isinstance(owner.get("pid"), int):
            return False
        process = read_process(owner["pid"])
        return process is not None and not process.zombie and process.start == owner.get("pid_start")
