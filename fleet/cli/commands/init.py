"""Set fleet up on this account, and say what was found. Safe to repeat; nothing of yours is touched unless asked.

Agents that fleet dispatches need no more. `--user-hooks` also puts fleet's hooks into your own Claude Code settings and
Codex hooks, for agents that something else started under a FLEET_AGENT_ID: everything else in those files stays byte
for byte, `--dry-run` shows the change, `--uninstall` takes it back, and a backup lies beside the file.

examples:
  fleet init
  fleet init --user-hooks --dry-run
  fleet init --user-hooks --engine claude --statusline
  fleet init --user-hooks --uninstall
"""

from __future__ import annotations

import os
import sys

from fleet.cli import output
from fleet.errors import EXIT_OK, EnvironmentMissing, FleetError, Refused, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

    from fleet.app import Fleet
    from fleet.settings.files import Change

NEEDS_USER_HOOKS = ("dry_run", "uninstall", "engine", "statusline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--user-hooks", action="store_true", help="put fleet's hooks into your own settings")
    parser.add_argument("--engine", help="only this one's: claude or codex (default: each that has been set up)")
    parser.add_argument("--statusline", action="store_true", help="wrap Claude Code's status line in your settings too")
    parser.add_argument("--dry-run", action="store_true", help="show the change as a diff and change nothing")
    parser.add_argument("--uninstall", action="store_true", help="take fleet's entries out of your settings again")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Set up, or change the user's settings."""
    if not args.user_hooks:
        for name in NEEDS_USER_HOOKS:
            if getattr(args, name) not in (None, False):
                raise UsageError(f"--{name.replace('_', '-')} belongs to --user-hooks")
        return _set_up(args, fleet)
    if args.uninstall and args.statusline:
        raise UsageError("--uninstall takes the status line out as well", hint="leave --statusline away")
    return _user_hooks(args, fleet)


def _modules() -> dict[str, ModuleType]:
    """The engines that have settings of the user's."""
    from fleet.engines import claude, codex  # noqa: PLC0415  # paid only where it is used

    return {claude.NAME: claude, codex.NAME: codex}


def _set_up(args: argparse.Namespace, fleet: Fleet) -> int:
    made = not os.path.isdir(fleet.layout.home)
    fleet.make_home()
    view: dict[str, Any] = {
        "fleet_home": {"path": fleet.layout.home, "made": made},
        "tmux": _tmux(fleet),
        "engines": [_engine(name, module, fleet) for name, module in _modules().items()],
    }
    if args.json:
        output.data(view)
        return EXIT_OK
    rows = [("fleet home", fleet.layout.home, "made" if made else "was there"), _tmux_row(view["tmux"])]
    for one in view["engines"]:
        told = "not installed" if one["path"] is None else one["remedy"] or "set up"
        rows.append((one["name"], one["version"] or "-", told))
    output.table(("WHAT", "WHICH", "STATE"), rows)
    if not any(one["path"] and not one["remedy"] for one in view["engines"]):
        output.say(
            "fleet: no engine can be dispatched yet; `fleet dispatch TASK --engine fake` shows fleet without one"
        )
    return EXIT_OK


def _tmux(fleet: Fleet) -> dict[str, Any]:
    from fleet.tmux.client import check_version  # noqa: PLC0415  # paid only where it is used

    try:
        return {"version": check_version(fleet.tmux_binary), "remedy": None}
    except FleetError as e:
        return {"version": None, "remedy": f"{e} ({e.hint})" if e.hint else str(e)}


def _tmux_row(tmux: Mapping[str, Any]) -> tuple[str, str, str]:
    return "tmux", tmux["version"] or "-", tmux["remedy"] or "found"


def _engine(name: str, module: ModuleType, fleet: Fleet) -> dict[str, Any]:
    from fleet.engines.base import locate  # noqa: PLC0415  # paid only where it is used
    from fleet.engines.versions import version  # noqa: PLC0415  # paid only where it is used

    binary = str(fleet.settings.engine(name)["binary"])
    try:
        path = locate(binary, fleet.environ, name)
    except EnvironmentMissing:
        return {"name": name, "path": None, "version": None, "remedy": f"no {binary!r} on PATH"}
    return {
        "name": name,
        "path": path,
        "version": version(path, fleet.environ),
        "remedy": module.set_up(fleet.environ),
    }


def _user_hooks(args: argparse.Namespace, fleet: Fleet) -> int:
    engines = _chosen(args, fleet)
    python = os.path.realpath(sys.executable)
    for module in engines.values():  # a file that cannot be changed is found before another one is
        _work(args, module, fleet, python, dry_run=True)()
    if not args.dry_run and not args.uninstall:
        fleet.make_home()
    done = {name: _work(args, module, fleet, python, dry_run=args.dry_run)() for name, module in engines.items()}
    from fleet.settings.install import diff  # noqa: PLC0415  # paid only where it is used

    views = [
        {"engine": name, "path": change.path, "action": _action(change, uninstall=args.uninstall),
         "dry_run": args.dry_run, "backup": change.backup, "diff": diff(change)}
        for name, change in done.items()
    ]  # fmt: skip
    if args.json:
        output.data(views)
        return EXIT_OK
    for view in views:
        if args.dry_run:
            sys.stdout.write(str(view["diff"]))
        would = "would be " if args.dry_run and view["action"] != "unchanged" else ""
        print(f"{view['engine']}  {would}{view['action']}  {view['path']}")
        if view["backup"]:
            output.say(f"backup: {view['backup']}")
        if view["engine"] == "codex" and view["action"] in ("installed", "updated") and not args.dry_run:
            output.say("note: Codex asks you once to review new hooks: choose `Trust all and continue`")
        silenced = _modules()["claude-code"].hooks_disabled_by(fleet.environ, os.getcwd())
        if view["engine"] == "claude-code" and silenced and not args.uninstall:
            output.say(f"note: {silenced} sets disableAllHooks: no hook fires until that is taken out")
    return EXIT_OK


def _chosen(args: argparse.Namespace, fleet: Fleet) -> dict[str, ModuleType]:
    """The engines whose settings are meant."""
    from fleet.engines.catalog import canonical  # noqa: PLC0415  # paid only where it is used

    modules = _modules()
    if args.engine is not None:
        name = canonical(args.engine)
        if name not in modules:
            raise UsageError(f"{args.engine} has no settings of yours", hint="claude or codex")
        if args.statusline and name != "claude-code":
            raise UsageError(f"{args.engine} has no status line that can be wrapped", hint="only claude has")
        modules = {name: modules[name]}
    there = {name: module for name, module in modules.items() if os.path.isdir(os.path.dirname(_path(module, fleet)))}
    if not there:
        folders = " and ".join(os.path.dirname(_path(module, fleet)) for module in modules.values())
        raise Refused(f"{folders}: no such folder, so there are no settings yet", hint="run the client once by hand")
    return there


def _path(module: ModuleType, fleet: Fleet) -> str:
    return str(module.user_settings(fleet.environ, "", statusline=False)[0])


def _work(
    args: argparse.Namespace, module: ModuleType, fleet: Fleet, python: str, *, dry_run: bool
) -> Callable[[], Change]:
    """What is to be done with one engine's file."""
    import functools  # noqa: PLC0415  # paid only where it is used

    from fleet.settings import install  # noqa: PLC0415  # paid only where it is used

    line = args.statusline and module.__name__.endswith("claude")
    path, wanted = module.user_settings(fleet.environ, python, statusline=line)
    if args.uninstall:
        return functools.partial(install.uninstall, path, wanted.engine, dry_run=dry_run)
    return functools.partial(install.install, path, wanted, dry_run=dry_run)


def _action(change: Change, *, uninstall: bool) -> str:
    if not change.changed:
        return "unchanged"
    if uninstall:
        return "removed"
    return "updated" if b"on_event.py" in (change.before or b"") else "installed"
