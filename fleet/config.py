"""Settings with their sources: defaults < the user's file < the project's file < environment < command line.

The user's file is FLEET_HOME/config.yaml; the project's is `.fleet/config.yaml` in the working directory of an agent
or above it, up to the repository's root. A project's file may come from a stranger: it sets what a dispatch is by
default and how worktrees are made, and nothing that grants a permission, names a program or is one for the whole fleet.

Engine options come the same way: config/engines/<engine>.yaml < `engines: {<engine>: …}` in the user's file.
"""

from __future__ import annotations

import os
import re
import sys

from fleet import resources
from fleet.errors import BadFile, EnvironmentMissing, UsageError
from fleet.formats.atomic import encode, read_bytes, write_file
from fleet.yaml_files import YamlFiles, flat, mapping, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from fleet.formats.layout import Layout

ENVIRONMENT = {"FLEET_TMUX_SOCKET": "tmux.socket", "FLEET_MAX_SESSIONS": "limits.max_sessions"}
PROJECT_FILE = os.path.join(".fleet", "config.yaml")
PROJECT_MAY_SET = ("dispatch.", "worktree.")
DEFAULT, COMMAND_LINE = "default", "command line"
AT_LEAST_ONE = frozenset(
    {"handoff.max_attempts", "limits.recover_at_once"}
)  #: no session at all (limits.max_sessions) is a way to pause
ABOVE_ZERO = frozenset({"watch.stale_minutes", "watch.interval_minutes"})
EVENTS = ("waiting", "exited", "dead-letter", "hold", "watchdog", "stall")  #: of `notify.events`
CHOICES = {
    "dispatch.mode": ("execute", "plan", "fix", "review"),
    "watch.mode": ("off", "observe", "act"),
    "notify.webhook_form": ("ntfy", "slack"),
}
#: The form of texts, and how it is called.
FORMS = {
    "notify.webhook": (r"https?://[^\s/]+\S*", "an http or https address"),
    "notify.quiet_hours": (r"(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d", "HH:MM-HH:MM, such as 22:00-07:00"),
}


class Settings:
    """Every setting by its dotted name, and where its value is from."""

    def __init__(
        self,
        values: Mapping[str, Any],
        sources: Mapping[str, str],
        user_engines: Mapping[str, Mapping[str, Any]],
        files: YamlFiles,
    ) -> None:
        self.values = values
        self.sources = sources  #: `default`, a file's path, a variable's name or `command line`
        self.user_engines = user_engines  #: what the user's file says of them
        self.files = files

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def number(self, name: str) -> float:
        """A setting that is a number."""
        return float(self.values[name])

    def engine(self, name: str) -> Mapping[str, Any]:
        """The options of an engine: config/engines/<name>.yaml and the user's over them."""
        return {**engine_options(self.files, name), **self.user_engines.get(name, {})}

    def screen(self, name: str) -> Mapping[str, Any]:
        """What `engines.rules` makes of an engine's screens; empty for an engine without rules."""
        data = self.files.read(engine_file(name)).get("screen")
        if isinstance(data, str):  # it draws like another engine
            data = self.files.read(engine_file(data)).get("screen")
        return data if isinstance(data, dict) else {}


def fleet_home(environ: Mapping[str, str]) -> str:
    """
    The fleet home as an absolute path.

    Raises:
        EnvironmentMissing: FLEET_HOME is relative or holds a newline, so that hooks would look elsewhere.
    """
    named = environ.get("FLEET_HOME")
    if named is None or named == "":
        return os.path.join(os.path.expanduser("~"), ".fleet")
    if not os.path.isabs(named) or "\n" in named:
        raise EnvironmentMissing(f"FLEET_HOME is {named!r}", hint="give an absolute path")
    return os.path.normpath(named)


def user_file(layout: Layout) -> str:
    """The user's own settings."""
    return os.path.join(layout.home, "config.yaml")


def project_file(folder: str) -> str | None:
    """The settings of the project that *folder* is in; None when it has none."""
    home = os.path.realpath(os.path.expanduser("~"))
    folder = os.path.realpath(folder)
    while True:
        path = os.path.join(folder, PROJECT_FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if folder in (above, home) or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = above


def load(
    layout: Layout,
    environ: Mapping[str, str],
    *,
    project: str | None = None,
    given: Iterable[str] = (),
    own: bool = True,
) -> Settings:
    """
    The settings in force.

    Args:
        project: the project's file, where one counts.
        given: `NAME=VALUE` of the command line.
        own: read the user's file, too.

    Raises:
        UsageError: a file, variable or argument holds something that cannot be a setting; names it.
    """
    files = YamlFiles(layout)
    values = flat(files.read(resources.config_file("defaults.yaml")))
    sources = dict.fromkeys(values, DEFAULT)
    engines: dict[str, Mapping[str, Any]] = {}

    def take(source: str, where: str, own: Mapping[str, Any]) -> None:
        for name, value in own.items():
            check_name(where, name, values)
            values[name], sources[name] = typed(where, name, value, values[name]), source

    path = user_file(layout)
    if own and os.path.exists(path):
        said = files.read(path)
        for name, options in mapping(path, said.pop("engines", None)).items():
            engines[name] = _engine_options(files, path, name, options)
        take(path, path, flat(said))
    if project is not None:
        asked = flat(files.read(project))
        for name in asked:
            if not name.startswith(PROJECT_MAY_SET) and name in values:
                may = " and ".join(f"{one}*" for one in PROJECT_MAY_SET)
                raise UsageError(f"{place(project, name)}: a project cannot set {name}", hint=f"it may set {may}")
        take(project, project, asked)
    for variable, name in ENVIRONMENT.items():
        if environ.get(variable):
            take(variable, variable, {name: environ[variable]})
    for word in given:
        name, equals, text = word.partition("=")
        if not equals:
            raise UsageError(f"-c {word}: expected NAME=VALUE", hint="`fleet config show` lists the names")
        take(COMMAND_LINE, "-c", {name: from_text(text)})
    _check_sense(values, sources)
    return Settings(values, sources, engines, files)


def _check_sense(values: Mapping[str, Any], sources: Mapping[str, str]) -> None:
    """Refuse values that each could be and together cannot."""
    for kind in ("pct", "tokens"):
        yellow, red = (f"thresholds.{colour}_{kind}" for colour in ("yellow", "red"))
        if values[yellow] is not None and values[red] is not None and values[yellow] > values[red]:
            name = yellow if sources[yellow] != DEFAULT else red
            raise UsageError(
                f"{place_of(sources[name], name)}: {yellow} is above {red} ({values[yellow]:g} and {values[red]:g})",
                hint="yellow asks for a handoff, red makes it",
            )


def from_text(text: str) -> Any:
    """A value as somebody types it: a number, true, false, null, or else a text."""
    words: dict[str, Any] = {"true": True, "false": False, "null": None, "": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and "." not in text else number


def engine_names() -> list[str]:
    """The engines that have options."""
    return sorted(n.removesuffix(".yaml") for n in os.listdir(resources.config_file("engines")) if n.endswith(".yaml"))


def engine_file(name: str) -> str:
    """The default options of an engine."""
    return resources.config_file("engines", f"{name}.yaml")


def engine_options(files: YamlFiles, name: str) -> dict[str, Any]:
    """The options of an engine with their defaults; the rules for its screens are none of them."""
    return {key: value for key, value in files.read(engine_file(name)).items() if key != "screen"}


def _engine_options(files: YamlFiles, path: str, name: str, options: object) -> Mapping[str, Any]:
    if name not in engine_names():
        where = place(path, f"engines.{name}")
        raise UsageError(f"{where}: unknown engine {name!r}", hint=f"known: {', '.join(engine_names())}")
    known = engine_options(files, name)
    found = {}
    for one, value in mapping(path, options).items():
        dotted = f"engines.{name}.{one}"
        check_name(path, dotted, [f"engines.{name}.{each}" for each in known])
        found[one] = typed(path, dotted, value, known[one])
    return found


def place_of(where: str, name: str) -> str:
    """Where a setting was given: with its line in a file."""
    return place(where, name) if os.path.isabs(where) else where


def check_name(where: str, name: str, known: Iterable[str]) -> None:
    """
    Make sure that there is a setting of that name.

    Raises:
        UsageError: there is none; suggests one that is meant.
    """
    if name in (names := list(known)):
        return
    import difflib  # noqa: PLC0415  # paid only where it is used

    near = difflib.get_close_matches(name, names, 1)
    if not near and any(one.startswith(name + ".") for one in names):
        hint = "it is a group: " + ", ".join(one for one in names if one.startswith(name + "."))
    else:
        hint = f"did you mean {near[0]!r}?" if near else "`fleet config show` lists the names"
    raise UsageError(f"{place_of(where, name)}: unknown setting {name!r}", hint=hint)


def typed(where: str, name: str, value: Any, default: Any) -> Any:
    """
    *value* as the kind of value that the setting has.

    Raises:
        UsageError: it cannot be one.
    """
    if isinstance(default, list):
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            _check_form(where, name, value)
            return value
    elif isinstance(default, bool) or isinstance(value, bool):
        if isinstance(value, bool) and isinstance(default, bool):
            return value
    elif isinstance(default, (int, float)) or name.endswith("_tokens"):
        number = _number(value)
        least = 1 if name in AT_LEAST_ONE else 0
        most = 100 if name.endswith("_pct") else sys.float_info.max
        if number is None and value is None and name.endswith("_tokens"):
            return None
        if number is not None and least <= number <= most and (number > 0 or name not in ABOVE_ZERO):
            return int(number) if float(number).is_integer() else number
    elif value is None or isinstance(value, str):
        _check_form(where, name, value)
        choices = _choices(name)
        if value in (choices or (value,)) and (value is not None or default is None):
            return value
    known = f"known: {', '.join(_choices(name))}" if _choices(name) else None
    raise UsageError(f"{place_of(where, name)}: {name} cannot be {value!r}", hint=known)


def _check_form(where: str, name: str, value: str | list[str] | None) -> None:
    """Refuse a text or a list that is none of what that setting takes."""
    if isinstance(value, list):
        unknown = [one for one in value if name == "notify.events" and one not in EVENTS]
        if unknown:
            hint = f"known: {', '.join(EVENTS)}"
            raise UsageError(f"{place_of(where, name)}: {name} cannot hold {unknown[0]!r}", hint=hint)
    elif value is not None:
        form = None
        if name in ("tmux.socket", "worktree.folder") and not os.path.isabs(value):
            form = "give an absolute path"
        elif name in FORMS and not re.fullmatch(FORMS[name][0], value):
            form = f"give {FORMS[name][1]}"
        if form is not None:
            raise UsageError(f"{place_of(where, name)}: {name} is {value!r}", hint=form)


def _number(value: Any) -> float | None:
    try:
        return value if isinstance(value, (int, float)) else float(str(value))
    except ValueError:
        return None


def _choices(name: str) -> tuple[str, ...]:
    return ("claude", *engine_names()) if name == "dispatch.engine" else CHOICES.get(name, ())


def hook_config(settings: Settings, drain_argv: list[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """What hooks need of the settings, for `run/hook-config.json`."""
    keep = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TMUX_TMPDIR", "XDG_RUNTIME_DIR", "USER", "FLEET_TMUX_SOCKET",
            "FLEET_TMUX_BIN", "FLEET_MAX_SESSIONS")  # fmt: skip
    return {
        "schema_version": 1,
        "windows": settings.files.read(resources.config_file("models.yaml"))["windows"],
        "yellow_pct": settings["thresholds.yellow_pct"],
        "red_pct": settings["thresholds.red_pct"],
        "yellow_tokens": settings["thresholds.yellow_tokens"],
        "red_tokens": settings["thresholds.red_tokens"],
        "rerequest_seconds": settings.number("thresholds.rerequest_minutes") * 60,
        "approval_hold_seconds": settings["approvals.hold_seconds"] if settings["approvals.hold"] else 0,
        "inline_characters": settings["messages.inline_characters"],
        "drain_argv": drain_argv,
        "drain_env": {name: environ[name] for name in keep if name in environ},
    }


def compile_hooks(layout: Layout, data: Mapping[str, Any]) -> None:
    """
    Write the hook configuration when it says something new.

    Raises:
        BadFile: it cannot be written.
    """
    new = encode(data)
    try:
        if read_bytes(layout.hook_config) == new:
            return
    except (FileNotFoundError, BadFile):
        pass
    try:
        write_file(layout.hook_config, new)
    except OSError as e:
        raise BadFile(layout.hook_config, os.strerror(e.errno or 0)) from e
