"""YAML files as people write them: read through a cache, and every name with the line it stands on."""

from __future__ import annotations

import os

from fleet.errors import BadFile, UsageError
from fleet.formats.atomic import encode, read_bytes, read_object, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout


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
        data = parse(path)
        self._known[path] = {"stamp": stamp, "data": data}
        if os.path.isdir(os.path.dirname(self._path)):
            try:
                write_file(self._path, encode(self._known), sync=False)
            except (OSError, TypeError, ValueError):
                pass  # a cache that cannot be written is no cache
        return dict(data)


def parse(path: str) -> dict[str, Any]:
    """The names and values in *path*, without the cache; raises as `YamlFiles.read`."""
    import yaml  # noqa: PLC0415  # 15 ms, paid only where a file is new

    try:
        data = load(read_bytes(path))
    except yaml.MarkedYAMLError as e:
        at = f":{e.problem_mark.line + 1}" if e.problem_mark is not None else ""
        raise UsageError(f"{path}{at}: not YAML: {e.problem}") from e
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise UsageError(f"{path}: not YAML: {' '.join(str(e).split())}") from e
    except (FileNotFoundError, BadFile) as e:
        raise UsageError(f"cannot read {path}: {e}") from e
    return mapping(path, data)


def load(text: str | bytes) -> Any:
    """
    What a YAML text says.

    Raises:
        yaml.YAMLError: it is none, or a name stands twice in one group, of which YAML would take the last in silence.
        UnicodeDecodeError, ValueError, RecursionError: as yaml.load.
    """
    import yaml  # noqa: PLC0415  # 15 ms, paid only where a file is new

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Strict(base):  # type: ignore[misc]  # made here, because importing yaml costs
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002  # yaml's own form
            seen: dict[str, int] = {}
            for key, _ in node.value:
                if isinstance(key.value, str) and key.value != "<<":
                    line = key.start_mark.line + 1
                    if key.value in seen:
                        words = f"{key.value!r} is there twice, first in line {seen[key.value]}"
                        raise yaml.constructor.ConstructorError(None, None, words, key.start_mark)
                    seen[key.value] = line
            return super().construct_mapping(node, deep)

    return yaml.load(text, Loader=Strict)  # noqa: S506  # it is the safe loader


def mapping(path: str, data: object) -> dict[str, Any]:
    """*data*, which must be names with values."""
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(k, str) for k in data):
        raise UsageError(f"{path}: expected names with values, found {data!r}")
    return data


def flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested names as dotted ones."""
    found: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{name}."))
        else:
            found[prefix + name] = value
    return found


def place(path: str, name: str) -> str:
    """`FILE:LINE` of a dotted name in a file, for a message; the file alone where that cannot be found out."""
    import yaml  # noqa: PLC0415  # only a message pays for it

    try:
        with open(path, "rb") as f:
            node: Any = yaml.compose(f, Loader=yaml.SafeLoader)
        line = None
        for part in name.split("."):
            key, node = next((k, v) for k, v in node.value if k.value == part)
            line = key.start_mark.line + 1
    except (OSError, yaml.YAMLError, UnicodeDecodeError, StopIteration, AttributeError, TypeError, ValueError):
        return path
    return path if line is None else f"{path}:{line}"
