"""The settings: what is in force and why, and changing them.

examples:
  fleet config show                          every setting, its value and where it is from
  fleet config get thresholds.yellow_pct
  fleet config set thresholds.yellow_pct 60
  fleet config set engines.claude-code.permission_mode acceptEdits
  fleet config set --project dispatch.engine codex
  fleet config unset thresholds.yellow_pct
  fleet config edit                          in your editor; checked before it counts
  fleet config path                          the files that are read
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

from fleet import config, resources
from fleet.cli import output
from fleet.errors import EXIT_OK, EnvironmentMissing, Refused, UsageError
from fleet.formats.atomic import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet

TAKES_TEXT = "fleet config set NAME -- VALUE"
ACTIONS = ("show", "list", "get", "set", "unset", "edit", "path")
ENGINES = "engines."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=ACTIONS, nargs="?", default="show", help="list is show")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a setting's dotted name")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="for set: a number, true, false, null, a text, or a "
                        "list as [a, b]")  # fmt: skip
    parser.add_argument("--project", action="store_true", help="for set, unset and edit: the project's file, not yours")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Do what the action says."""
    needs = {"get": 1, "set": 2, "unset": 1}.get(args.action, 0)
    if (args.name is not None) + (args.value is not None) != needs:
        words = {0: "", 1: " NAME", 2: " NAME VALUE"}[needs]
        raise UsageError(f"fleet config {args.action} takes{words or ' no name'}", hint="`fleet config --help`")
    return _RUN[args.action](args, fleet)


def _show(args: argparse.Namespace, fleet: Fleet) -> int:
    rows = _rows(fleet)
    if args.json:
        output.data(rows)
    else:
        output.table(("NAME", "VALUE", "SOURCE"), [(r["name"], _text(r["value"]), r["source"]) for r in rows],
                     shrink=("SOURCE", "VALUE"), drop=("SOURCE",))  # fmt: skip
    return EXIT_OK


def _get(args: argparse.Namespace, fleet: Fleet) -> int:
    rows = {row["name"]: row for row in _rows(fleet)}
    config.check_name("config", args.name, rows)
    row = rows[args.name]
    if args.json:
        output.data(row)
    else:
        print(_text(row["value"]))
        output.say(f"from: {row['source']}")
    return EXIT_OK


def _rows(fleet: Fleet) -> list[dict[str, Any]]:
    """Every setting with its value and source, as they are for an agent started here."""
    settings = fleet.settings_in(os.getcwd())
    rows = [{"name": name, "value": value, "source": settings.sources[name]} for name, value in settings.values.items()]
    for engine in config.engine_names():
        given = settings.user_engines.get(engine, {})
        for name, value in settings.engine(engine).items():
            source = config.user_file(fleet.layout) if name in given else config.DEFAULT
            rows.append({"name": f"{ENGINES}{engine}.{name}", "value": value, "source": source})
    return rows


def _set(args: argparse.Namespace, fleet: Fleet) -> int:
    value = args.value
    if value.startswith("["):
        if not value.endswith("]"):
            raise UsageError(f"{value!r} is no list", hint="as in '[--verbose, --debug]'")
        value = [word.strip() for word in value[1:-1].split(",") if word.strip()]
    else:
        value = config.from_text(value)
    return _change(args, fleet, value, remove=False)


def _unset(args: argparse.Namespace, fleet: Fleet) -> int:
    return _change(args, fleet, None, remove=True)


def _change(args: argparse.Namespace, fleet: Fleet, value: Any, *, remove: bool) -> int:
    """Change the file's text, check what it would mean, and only then replace the file."""
    from fleet import config_edit  # noqa: PLC0415  # paid only where it is used

    path = _file(args, fleet)
    if not remove:
        config.check_name("config", args.name, [row["name"] for row in _defaults(fleet)])
    data = config_edit.change(path, args.name, value, remove=remove)
    if remove and data == _now(path):
        config.check_name("config", args.name, [row["name"] for row in _defaults(fleet)])
    if not remove:  # taking something away mends a file that is wrong
        _check(args, fleet, path, data)
    config_edit.write(path, data)
    row = {"name": args.name, "value": None if remove else value, "file": path}
    if args.json:
        output.data(row)
    else:
        print(f"{args.name}  {'back to its default' if remove else _text(value)}")
        output.say(f"in {path}; a drain that runs takes it up by itself")
    return EXIT_OK


def _now(path: str) -> bytes:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return b""


def _defaults(fleet: Fleet) -> list[dict[str, Any]]:
    """Every setting there is, whatever the user's files say of them."""
    from fleet.yaml_files import YamlFiles, flat  # noqa: PLC0415  # paid only where it is used

    files = YamlFiles(fleet.layout)
    names = list(flat(files.read(resources.config_file("defaults.yaml"))))
    for engine in config.engine_names():
        names += [f"{ENGINES}{engine}.{name}" for name in config.engine_options(files, engine)]
    return [{"name": name} for name in names]


def _file(args: argparse.Namespace, fleet: Fleet) -> str:
    """The file that is to be changed; a project's new one lies in the repository's root, else here."""
    if not args.project:
        return config.user_file(fleet.layout)
    found = config.project_file(os.getcwd())
    if found is not None:
        return found
    folder = os.getcwd()
    while not os.path.exists(os.path.join(folder, ".git")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    root = folder if os.path.exists(os.path.join(folder, ".git")) else os.getcwd()
    return os.path.join(root, config.PROJECT_FILE)


def _check(args: argparse.Namespace, fleet: Fleet, path: str, data: bytes) -> None:
    """
    Read the changed text as if it stood there already.

    Raises:
        UsageError: it would not be a configuration; names the file and line as they would be.
    """
    with tempfile.TemporaryDirectory(prefix="fleet-config-") as folder:
        trial = os.path.join(folder, "config.yaml")
        with open(trial, "wb") as f:
            f.write(data)
        from fleet.formats.layout import Layout  # noqa: PLC0415  # paid only where it is used

        try:
            if args.project:
                config.load(fleet.layout, {}, project=trial)
            else:
                config.load(Layout(folder), {})
        except UsageError as e:
            raise UsageError(str(e).replace(trial, path), hint=e.hint) from e


def _edit(args: argparse.Namespace, fleet: Fleet) -> int:
    """Let the editor work on a copy; what is wrong stays in the copy, and is said."""
    from fleet import config_edit  # noqa: PLC0415  # paid only where it is used

    editor = (
        fleet.environ.get("VISUAL") or fleet.environ.get("EDITOR") or next(filter(shutil.which, ("nano", "vi")), "")
    )
    if not editor:
        raise EnvironmentMissing("no editor is known", hint="name one with EDITOR")
    path = _file(args, fleet)
    fleet.make_home()
    try:
        before = read_bytes(path)
    except FileNotFoundError:
        schema = resources.config_file("schemas", "config.json")
        before = (config_edit.SCHEMA_LINE.format(schema) + "# `fleet config show` lists every setting.\n").encode()
    copy = os.path.join(fleet.layout.run, "config-being-edited.yaml")
    with open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
        f.write(before)
    if subprocess.run(["sh", "-c", f'{editor} "$1"', "sh", copy], check=False).returncode:
        raise Refused(f"the editor failed; {path} is as it was", hint=f"your text is in {copy}")
    after = read_bytes(copy)
    if after == before:
        output.say("nothing was changed")
        return EXIT_OK
    try:
        _check(args, fleet, path, after)
    except UsageError as e:
        raise UsageError(str(e), hint=f"{e.hint or 'nothing was changed'}; your text is in {copy}") from e
    config_edit.write(path, after)
    os.unlink(copy)
    output.say(f"{path} is changed; a drain that runs takes it up by itself")
    return EXIT_OK


def _path(args: argparse.Namespace, fleet: Fleet) -> int:
    paths = {
        "defaults": resources.config_file("defaults.yaml"),
        "user": config.user_file(fleet.layout),
        "project": config.project_file(os.getcwd()),
        "schema": resources.config_file("schemas", "config.json"),
    }
    if args.json:
        output.data(
            {name: {"path": path, "exists": bool(path and os.path.exists(path))} for name, path in paths.items()}
        )
    else:
        rows = [
            (name, path or "-", "" if path and os.path.exists(path) else "not there") for name, path in paths.items()
        ]
        output.table(("FILE", "PATH", ""), rows)
    return EXIT_OK


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(value) + "]"
    return str(value)


_RUN = {"show": _show, "list": _show, "get": _get, "set": _set, "unset": _unset, "edit": _edit, "path": _path}
