"""The object graph: the one place where parts are put together. What is costly is made when it is first asked for."""

from __future__ import annotations

import functools
import os
import sys

from fleet import config
from fleet.clock import SystemClock
from fleet.errors import EnvironmentMissing, Refused
from fleet.formats.layout import Layout
from fleet.store.agents import AgentStore
from fleet.store.holds import HoldStore
from fleet.store.journal import Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fleet.clock import Clock
    from fleet.dispatch.starter import Starter
    from fleet.model.agent import Agent
    from fleet.model.panes import Panes
    from fleet.model.screen import Screen
    from fleet.observe.facts import Looker
    from fleet.observe.scanner import Scanner
    from fleet.observe.versions import Versions
    from fleet.tmux.client import Tmux


class Fleet:
    """One FLEET_HOME on this host."""

    def __init__(self, environ: Mapping[str, str], clock: Clock | None = None, given: Sequence[str] = ()) -> None:
        self.environ = dict(environ)
        self.given = tuple(given)  #: settings of the command line, `NAME=VALUE`
        self.clock: Clock = clock or SystemClock()
        self.layout = Layout(config.fleet_home(environ))
        self.tmux_binary = environ.get("FLEET_TMUX_BIN") or "tmux"
        self.agents = AgentStore(self.layout)
        self.holds = HoldStore(self.layout)
        self.is_inspection = os.path.lexists(self.layout.inspection)  #: an imported history: nothing is done in it
        self.journal = Journal(self.layout, self.clock)
        self.screens: Callable[[], Mapping[str, Screen]] | None = None  #: of a scanner in this process

    @functools.cached_property
    def settings(self) -> config.Settings:
        """The settings in force for the whole fleet."""
        return config.load(self.layout, self.environ, given=self.given)

    def look_on(self) -> None:
        """Go on without the user's file, which cannot be used: for what only looks. Raises as `config.load`."""
        self.__dict__["settings"] = config.load(self.layout, self.environ, given=self.given, own=False)

    def settings_in(self, folder: str) -> config.Settings:
        """The settings in force for an agent that works there."""
        project = config.project_file(folder)
        if project is None:
            return self.settings
        return config.load(self.layout, self.environ, project=project, given=self.given)

    @functools.cached_property
    def socket(self) -> str:
        """The tmux server that new agents go to."""
        from fleet.tmux.client import default_socket  # noqa: PLC0415  # paid only where it is used

        return str(self.settings["tmux.socket"] or default_socket(self.environ))

    @functools.cached_property
    def starter(self) -> Starter:
        """What starts agents."""
        from fleet.dispatch.starter import Starter  # noqa: PLC0415  # paid only where it is used

        return Starter(self.layout, self.agents, self.journal, self.clock, self.panes_on)

    @functools.cached_property
    def versions(self) -> Versions:
        """Which version of its engine each agent runs."""
        from fleet.observe.versions import Versions  # noqa: PLC0415  # paid only where it is used

        return Versions(self.layout)

    def make_home(self) -> None:
        """
        Make the folders of the fleet home.

        Raises:
            EnvironmentMissing: it cannot be made or written.
        """
        if self.is_inspection:
            raise Refused(f"{self.layout.home} is an imported history to look at: nothing is done in it")
        try:
            self.layout.make()
        except OSError as e:
            raise EnvironmentMissing(
                f"FLEET_HOME {self.layout.home} cannot be made: {e.strerror}",
                hint="name another folder with FLEET_HOME",
            ) from e

    def tmux_on(self, socket: str, seconds: float | None = None) -> Tmux:
        """The tmux server on a socket, for what is tmux's alone; it may take *seconds* for an answer."""
        from fleet.tmux.client import TIMEOUT_SECONDS, Tmux  # noqa: PLC0415  # paid only where it is used

        return Tmux(socket, binary=self.tmux_binary, timeout_seconds=TIMEOUT_SECONDS if seconds is None else seconds)

    def panes_on(self, socket: str) -> Panes:
        """The panes of the server on a socket."""
        from fleet.tmux.panes import TmuxPanes  # noqa: PLC0415  # paid only where it is used

        return TmuxPanes(self.tmux_on(socket), self.clock)

    def looker(self) -> Looker:
        """A new look at this host."""
        from fleet.observe.facts import Looker  # noqa: PLC0415  # paid only where it is used

        if self.is_inspection:
            from fleet.observe.imported import ImportedLooker  # noqa: PLC0415  # paid only where it is used

            return ImportedLooker(self.layout, self.journal)
        return Looker(
            self.layout, self.journal, self.panes_on, lambda: self.socket, self.clock.wall, self._screens,
            lambda: self.holds.all().holds,
        )  # fmt: skip

    def _screens(self) -> Mapping[str, Screen]:
        from fleet.store import screens  # noqa: PLC0415  # paid only where it is used

        return self.screens() if self.screens is not None else screens.read(self.layout)

    def look_at_screens(self, agents: Sequence[Agent]) -> tuple[str, ...]:
        """
        Look at the screens of *agents* now, whether a drain does or not; what was seen counts in this process.

        Returns which servers did not answer, and why.
        """
        from fleet.store import screens  # noqa: PLC0415  # paid only where it is used

        if self.is_inspection or not self.settings["scanner.enabled"]:
            return ()
        scanner = self.scanner()
        scanner.screens.update(screens.read(self.layout))
        tick = scanner.tick(agents)
        self.screens = lambda: scanner.screens
        return tick.errors

    def scanner(self, seconds: float | None = None) -> Scanner:
        """What looks at the screens of agents."""
        from fleet.engines.rules import Rules  # noqa: PLC0415  # paid only where it is used
        from fleet.observe.scanner import Scanner  # noqa: PLC0415  # paid only where it is used
        from fleet.tmux.batch import Batch  # noqa: PLC0415  # paid only where it is used

        limit = self.settings.number("scanner.deadline_seconds") if seconds is None else seconds
        return Scanner(
            self.clock,
            lambda socket: Batch(self.tmux_on(socket, limit)),
            lambda name: Rules(name, self.settings.screen(name)),
            lambda: self.socket,
            self.versions.of,
        )

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
        from fleet.process.table import lives  # noqa: PLC0415  # paid only where it is used

        return lives(owner["pid"], owner.get("pid_start"))
