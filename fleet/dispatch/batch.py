"""Many tasks in one file: text in, one set of dispatch options per task out. Pure.

    defaults: {engine: codex, cwd: ~/src/shop}
    tasks:
      - task: fix-{{bug}}
        prompt: "Fix {{bug}}, then run the tests"
        matrix: {bug: [login, search]}
      - {task: review, count: 3, prompt: "Review number {{n}}", priority: 5}

A task has the options of `fleet dispatch` (with `_` or `-`), and `count`, `matrix` and `priority`. `{{name}}` stands
for a value of the matrix, `{{n}}` for the number within `count`, `{{task}}` and `{{project}}` for the task's own; a
name that is none of these is an error, other braces are text. JSON Lines hold one task a line.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re

from fleet.errors import UsageError
from fleet.formats.tuples import NamedTuple
from fleet.yaml_files import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

TEXTS = ("task", "project", "cwd", "engine", "model", "prompt", "prompt_file", "mode", "role", "env_file", "worktree")
OPTIONS = (*TEXTS, "env", "trust", "command", "count", "matrix", "priority")
MOST_TASKS = 1000
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_NO_SLUG = re.compile(r"[^a-z0-9_.-]+")


class Spec(NamedTuple):
    """One task as it is to be dispatched."""

    where: str  #: for messages: the file and which task of it
    options: dict[str, Any]  #: options of `fleet dispatch` by their name with `_`
    priority: int


def read(text: str, name: str) -> list[Spec]:
    """
    The tasks in *text*, in its order.

    Raises:
        UsageError: it is no such file; names the place.
    """
    defaults, tasks = _document(text, name)
    found: list[Spec] = []
    for where, task in tasks:
        found += _expand(where, {**defaults, **task})
        if len(found) > MOST_TASKS:
            raise UsageError(f"{where}: more than {MOST_TASKS} tasks", hint="several files, one after the other")
    seen: dict[tuple[str, str], str] = {}
    for spec in found:
        key = (str(spec.options.get("project", "")), str(spec.options["task"]))
        if key in seen:
            raise UsageError(f"{spec.where}: task {key[1]!r} is there twice (also {seen[key]})")
        seen[key] = spec.where
    return found


def _document(text: str, name: str) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    lines = _json_lines(text)
    if lines is not None:
        return {}, [(f"{name}, line {number}", _options(f"{name}, line {number}", data)) for number, data in lines]
    import yaml  # noqa: PLC0415  # 15 ms, paid only where a file is read

    try:
        data = load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        raise UsageError(f"{name}: not YAML: {' '.join(str(e).split())}") from e
    if isinstance(data, list):
        data = {"tasks": data}
    if not isinstance(data, dict) or not isinstance(data.get("tasks"), list):
        raise UsageError(
            f"{name}: expected a list of tasks under `tasks`", hint="`fleet dispatch --help` has an example"
        )
    for key in data:
        if key not in ("tasks", "defaults"):
            raise UsageError(f"{name}: unknown key {key!r}", hint="known: defaults, tasks")
    if not data["tasks"]:
        raise UsageError(f"{name}: there is no task in it")
    defaults = _options(f"{name}, defaults", data.get("defaults") or {})
    if "task" in defaults:
        raise UsageError(f"{name}, defaults: a name for all tasks makes no sense", hint="give each task its own")
    return defaults, [
        (f"{name}, task {number}", _options(f"{name}, task {number}", task))
        for number, task in enumerate(data["tasks"], 1)
    ]


def _json_lines(text: str) -> list[tuple[int, Any]] | None:
    """The lines as JSON, when the first that is not empty is an object by itself."""
    found: list[tuple[int, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            if not found:
                return None
            raise UsageError(f"line {number}: not JSON, as the lines before it are") from None
        if not found and not (isinstance(data, dict) and "tasks" not in data):
            return None
        found.append((number, data))
    return found or None


def _options(where: str, data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise UsageError(f"{where}: expected options by name, found {data!r}"[:200])
    found: dict[str, Any] = {}
    for raw, value in data.items():
        name = str(raw).replace("-", "_")
        if name not in OPTIONS:
            near = difflib.get_close_matches(name, OPTIONS, 1)
            raise UsageError(f"{where}: unknown option {raw!r}", hint=f"did you mean {near[0]!r}?" if near else None)
        found[name] = _checked(where, name, value)
    return found


def _checked(where: str, name: str, value: Any) -> Any:
    wrong = UsageError(f"{where}: {name} cannot be {value!r}"[:200])
    if name in ("count", "priority"):
        if isinstance(value, bool) or not isinstance(value, int) or (name == "count" and not 1 <= value <= MOST_TASKS):
            raise wrong
        return value
    if name == "trust" or (name == "worktree" and isinstance(value, bool)):
        if not isinstance(value, bool):
            raise wrong
        return value
    if name == "matrix":
        if not isinstance(value, dict) or not all(
            re.fullmatch(r"[A-Za-z_]\w*", str(key)) and isinstance(each, list) and each for key, each in value.items()
        ):
            raise wrong
        return {str(key): [_text(where, name, one) for one in each] for key, each in value.items()}
    if name == "env":
        if not isinstance(value, dict):
            raise wrong
        return {str(key): _text(where, name, one) for key, one in value.items()}
    if name == "command":
        if not isinstance(value, list) or not value:
            raise wrong
        return [_text(where, name, one) for one in value]
    return _text(where, name, value)


def _text(where: str, name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UsageError(f"{where}: {name} cannot be {value!r}"[:200])
    return str(value)


def _expand(where: str, options: Mapping[str, Any]) -> Iterator[Spec]:
    if "task" not in options:
        raise UsageError(f"{where}: it has no `task`, which is its name")
    count, matrix = options.get("count"), options.get("matrix", {})
    names = sorted(matrix)
    for values in itertools.product(*(matrix[name] for name in names)):
        for number in range(1, (count or 1) + 1):
            variables = {**dict(zip(names, values, strict=True)), "n": str(number)}
            task = _filled(where, options["task"], {name: _slug(value) for name, value in variables.items()})
            if task == options["task"] and (names or count):
                task = "-".join([task, *map(_slug, values), *([str(number)] if count else [])])
            variables |= {"task": task, "project": options.get("project", "default")}
            rest = {k: v for k, v in options.items() if k not in ("task", "count", "matrix", "priority")}
            filled = {name: _filled_in(f"{where} ({task})", value, variables) for name, value in rest.items()}
            yield Spec(f"{where} ({task})", {**filled, "task": task}, int(options.get("priority", 0)))


def _slug(value: str) -> str:
    return _NO_SLUG.sub("-", value.lower()).strip("-")


def _filled_in(where: str, value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _filled(where, value, variables)
    if isinstance(value, list):
        return [_filled(where, one, variables) for one in value]
    if isinstance(value, dict):
        return {key: _filled(where, one, variables) for key, one in value.items()}
    return value


def _filled(where: str, text: str, variables: Mapping[str, str]) -> str:
    def one(found: re.Match[str]) -> str:
        if found[1] not in variables:
            raise UsageError(f"{where}: nothing is called {found[0]}", hint=f"known: {', '.join(sorted(variables))}")
        return variables[found[1]]

    return _VARIABLE.sub(one, text)
