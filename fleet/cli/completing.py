"""What may stand at the cursor: the answer to the completion of bash, zsh and fish, from the parsers themselves.

`fleet __complete WORD...` gets the words behind `fleet` up to the cursor, the last one unfinished or empty, and prints
one candidate a line, with a tab and a description where there is one. A single `:files` or `:folders` leaves it to
the shell. It never fails and never asks tmux: a completion that waits or complains is worse than none.
"""

from __future__ import annotations

import json
import os
import sys

from fleet.cli.parsers import PASS_THROUGH, module_of, parser_of
from fleet.cli.table import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

FILES, FOLDERS = ":files", ":folders"
_FILE_WORDS = frozenset({"FILE", "PATH"})
_FOLDER_WORDS = frozenset({"DIR", "FOLDER"})


def main(words: Sequence[str]) -> int:
    """Print the candidates; always 0."""
    try:
        found = list(candidates(list(words) or [""]))
    except Exception:  # noqa: BLE001  # the shell shows whatever is printed: silence is the only good answer
        found = []
    sys.stdout.write("".join(line + "\n" for line in found))
    return 0


def candidates(words: list[str]) -> Iterable[str]:
    """What may stand in place of the last word."""
    *before, word = words
    while before[:1] == ["-c"] and len(before) > 1:
        before = before[2:]
    if before == ["-c"]:
        return [f"{name}=" for name in _settings() if name.startswith(word)]
    if not before:
        return [f"{name}\t{about}" for name, (_, about) in COMMANDS.items() if name.startswith(word)]
    if before[0] not in COMMANDS or before[0] in PASS_THROUGH or "--" in before:
        return [FILES]
    return _of_command(before[0], before[1:], word)


def _of_command(name: str, before: list[str], word: str) -> Iterable[str]:
    parser = parser_of(name, module_of(name))
    options = {text: action for action in parser._actions for text in action.option_strings}  # noqa: SLF001
    if before and before[-1] in options and options[before[-1]].nargs != 0:
        return _values(name, options[before[-1]], word)
    if word.startswith("-"):
        return [f"{text}\t{_about(a)}" for text, a in sorted(options.items()) if text.startswith(word)]
    positionals = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001
    given = _count_positionals(before, options)
    if not positionals or (given >= len(positionals) and positionals[-1].nargs not in ("*", "+")):
        return []
    return _values(name, positionals[min(given, len(positionals) - 1)], word)


def _count_positionals(before: list[str], options: dict[str, argparse.Action]) -> int:
    count, skip = 0, False
    for one in before:
        if skip:
            skip = False
        elif one in options:
            skip = options[one].nargs != 0
        elif not one.startswith("-"):
            count += 1
    return count


def _values(command: str, action: argparse.Action, word: str) -> Iterable[str]:
    """What an option or a positional may be."""
    if action.choices is not None:
        return [str(one) for one in action.choices if str(one).startswith(word)]
    metavar = str(action.metavar or action.dest).upper()
    if metavar in _FILE_WORDS or action.dest in ("source", "prompt_file", "env_file", "file"):
        return [FILES]
    if metavar in _FOLDER_WORDS or action.dest == "cwd":
        return [FOLDERS]
    if metavar == "AGENT" or (command, action.dest) == ("queue", "id"):
        return [line for line in _agents() if line.startswith(word)]
    if action.dest == "project" and action.nargs != 0:
        return [one for one in sorted({str(r.get("project")) for r in _records()}) if one.startswith(word)]
    if action.dest == "engine":
        return [one for one in ("claude", "codex", "command", "fake", "gemini", "opencode") if one.startswith(word)]
    if command == "config" and action.dest in ("name", "value"):
        return [one for one in _settings() if one.startswith(word)] if action.dest == "name" else []
    return []


def _about(action: argparse.Action) -> str:
    """The option's help, its first words; a default is not worth the place."""
    text = " ".join((action.help or "").split()).partition(" (default")[0]
    return text.partition(";")[0]


def _records() -> list[dict[str, object]]:
    """The live records as they are, unchecked: whoever cannot read one shows the others."""
    from fleet.config import fleet_home  # noqa: PLC0415  # paid only where it is used

    folder, found = os.path.join(fleet_home(os.environ), "agents"), []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(".json"):
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    data = json.load(f)
            except (OSError, ValueError):
                continue
            if isinstance(data, dict):
                found.append(data)
    return found


def _agents() -> list[str]:
    """Task names with their ids, then ids with their task names."""
    known = [(str(r.get("id")), str(r.get("task_id")), str(r.get("engine"))) for r in _records()]
    tasks = [f"{task}\t{agent_id} ({engine})" for agent_id, task, engine in known]
    return tasks + [f"{agent_id}\t{task} ({engine})" for agent_id, task, engine in known]


def _settings() -> list[str]:
    from fleet import resources  # noqa: PLC0415  # paid only where it is used
    from fleet.config import engine_names, engine_options, fleet_home  # noqa: PLC0415  # paid only where it is used
    from fleet.formats.layout import Layout  # noqa: PLC0415  # paid only where it is used
    from fleet.yaml_files import YamlFiles, flat  # noqa: PLC0415  # paid only where it is used

    files = YamlFiles(Layout(fleet_home(os.environ)))
    names = list(flat(files.read(resources.config_file("defaults.yaml"))))
    return names + [f"engines.{one}.{name}" for one in engine_names() for name in engine_options(files, one)]
