"""Settings with their sources: config/defaults.yaml < FLEET_HOME/config.yaml < environment.

Engine options come the same way: config/engines/<engine>.yaml < `engines: {<engine>: …}` in the user's file.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field

from fleet import resources
from fleet.errors import BadFile, EnvironmentMissing, UsageError
from fleet.formats.atomic import encode, read_bytes, read_object, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout

ENVIRONMENT = {"FLEET_TMUX_SOCKET": "tmux.socket", "FLEET_MAX_SESSIONS": "limits.max_sessions"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting by its dotted name, and where its value is from."""

    values: Mapping[str, Any]
    files: YamlFiles
    sources: Mapping[str, str] = field(default_factory=dict)
    user_engines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  #: what the user's file says of them

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def number(self, name: str) -> float:
        """A setting that is a number."""
        return float(self.values[name])

    def engine(self, name: str) -> Mapping[str, Any]:
        """The options of an engine: config/engines/<name>.yaml and the user's over them."""
        known = self.files.read(resources.config_file("engines", f"{name}.yaml"))
        return {**known, **self.user_engines.get(name, {})}


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


def load(layout: Layout, environ: Mapping[str, str]) -> Settings:
    """
    The settings in force.

    Raises:
        UsageError: a file or variable holds something that cannot be a setting; names it.
    """
    files = YamlFiles(layout)
    values = _flat(files.read(resources.config_file("defaults.yaml")))
    sources = dict.fromkeys(values, "default")
    engines: dict[str, Mapping[str, Any]] = {}
    path = os.path.join(layout.home, "config.yaml")
    if os.path.exists(path):
        own = files.read(path)
        for name, options in _map(path, own.pop("engines", None)).items():
            if name not in _engine_names():
                raise UsageError(f"{path}: unknown engine {name!r}", hint=f"known: {', '.join(_engine_names())}")
            known = files.read(resources.config_file("engines", f"{name}.yaml"))
            engines[name] = _known(path, _map(path, options), known)
        for name, value in _known(path, _flat(own), values).items():
            values[name], sources[name] = _typed(path, name, value, values[name]), path
    for variable, name in ENVIRONMENT.items():
        text = environ.get(variable)
        if text:
            values[name], sources[name] = _typed(variable, name, text, values[name]), variable
    return Settings(values, files, sources, engines)


def _engine_names() -> list[str]:
    return sorted(n.removesuffix(".yaml") for n in os.listdir(resources.config_file("engines")) if n.endswith(".yaml"))


class YamlFiles:
    """
    Reads YAML files, and remembers what they said in `run/yaml-cache.json` while they stay as they are.

    Importing a YAML parser and parsing costs more than making a tmux session.
    """

    def __init__(self, layout: Layout) -> None:
        self._path = os.path.join(layout.run, "yaml-cache.json")
        try:
            self._known: dict[str, Any] = read_object(self._path)
        except (FileNotFoundError, BadFile):
            self._known = {}

    def read(self, path: str) -> dict[str, Any]:
        """
        The names and values in *path*.

        Raises:
            UsageError: it cannot be read, or says something else.
        """
        try:
            info = os.stat(path)
        except OSError as e:
            raise UsageError(f"cannot read {path}: {e.strerror}") from e
        stamp = [info.st_mtime_ns, info.st_size, info.st_ino]
        known = self._known.get(path)
        if isinstance(known, dict) and known.get("stamp") == stamp and isinstance(known.get("data"), dict):
            return dict(known["data"])
        data = _parse(path)
        self._known[path] = {"stamp": stamp, "data": data}
        if os.path.isdir(os.path.dirname(self._path)):
            try:
                write_file(self._path, encode(self._known), sync=False)
            except (OSError, TypeError, ValueError):
                pass  # a cache that cannot be written is no cache
        return dict(data)


def _parse(path: str) -> dict[str, Any]:
    import yaml  # noqa: PLC0415  # 15 ms, paid only where a file is new

    try:
        data = yaml.load(read_bytes(path), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise UsageError(f"{path}: not YAML: {' '.join(str(e).split())}") from e
    except (FileNotFoundError, BadFile) as e:
        raise UsageError(f"cannot read {path}: {e}") from e
    return _map(path, data)


def _map(path: str, data: object) -> dict[str, Any]:
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(k, str) for k in data):
        raise UsageError(f"{path}: expected names with values, found {data!r}")
    return data


def _flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def _known(path: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise UsageError(f"{path}: unknown setting {name!r}", hint=f"did you mean {near[0]!r}?" if near else None)
    return given


def _typed(where: str, name: str, value: Any, default: Any) -> Any:
    if isinstance(default, bool) or (isinstance(value, bool)):
        if isinstance(value, bool) and isinstance(default, bool):
            return value
    elif isinstance(default, (int, float)) or name.endswith("_tokens"):
        try:
            number = value if isinstance(value, (int, float)) or value is None else float(str(value))
        except ValueError:
            number = -1
        if number is None or number >= 0:
            return int(number) if number is not None and float(number).is_integer() else number
    elif value is None or isinstance(value, str):
        if name == "tmux.socket" and value is not None and not os.path.isabs(value):
            raise UsageError(f"{where}: {name} is {value!r}", hint="give the socket's absolute path")
        return value
    raise UsageError(f"{where}: {name} cannot be {value!r}")


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
