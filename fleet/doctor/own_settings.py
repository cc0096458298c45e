"""The user's own settings files: whether fleet's entries in them, if there are any, are those of this installation."""

from __future__ import annotations

import functools
import os
import sys

from fleet.doctor.findings import Finding, Grade, Mend, problem
from fleet.engines import claude, codex
from fleet.errors import FleetError
from fleet.settings import install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.app import Fleet
    from fleet.observe.facts import Looker


def user_hooks(fleet: Fleet, look: Looker) -> Iterator[Finding]:  # noqa: ARG001  # all checks have one shape
    """Compare what is there with what installing would leave."""
    python = os.path.realpath(sys.executable)
    for name, module in ((claude.NAME, claude), (codex.NAME, codex)):
        path, wanted = module.user_settings(fleet.environ, python, statusline=False)
        if not os.path.exists(path):
            continue
        try:
            if not install.uninstall(path, wanted.engine, dry_run=True).changed:
                continue  # fleet has no entry there, and need not have one
            stale = install.install(path, wanted, dry_run=True).changed
        except FleetError as e:
            yield Finding("user-hooks", Grade.UNKNOWN, str(e))
            continue
        silenced = claude.hooks_disabled_by(fleet.environ, os.getcwd()) if name == claude.NAME else None
        if silenced:
            yield problem(
                "user-hooks",
                f"{silenced} sets disableAllHooks",
                "fleet's hooks in your settings do not fire, nor do those of agents that it dispatches",
                f"take disableAllHooks out of {silenced}",
            )
        elif stale:
            yield problem(
                "user-hooks",
                f"{path} has hooks of another installation of fleet, or not all of this one's",
                "agents that something other than fleet starts are not watched as they should be",
                f"fleet init --user-hooks --engine {name}",
                Mend(f"fleet init --user-hooks --engine {name}", functools.partial(install.install, path, wanted)),
            )
        else:
            yield Finding("user-hooks", Grade.OK, f"{path} has fleet's hooks")
