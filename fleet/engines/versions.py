"""Which version of an engine is installed: as its npm package says, or it itself."""

from __future__ import annotations

import os
import re
import subprocess

from fleet.errors import BadFile
from fleet.formats.atomic import encode, read_object, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ANSWER_SECONDS = 20
START_SECONDS = 5  #: how long a start waits for an answer
MEMORY_SCHEMA = 1
MOST_REMEMBERED = 30
_NUMBER = re.compile(r"\d+(?:\.\d+)+")  #: of `0.171.0-linux-x64` what is compared


def installed(path: str, env: Mapping[str, str], memory: str) -> str | None:
    """
    The version of the program at *path*, such as "2.1.197"; None where nothing tells it.

    A program that is in no npm package is asked once: the answer is remembered in the file *memory*, under the
    program's own file, size and time.
    """
    real = os.path.realpath(path)
    told = _of_package(real)
    if told is None:
        try:
            stat = os.stat(real)
        except OSError:
            return None
        told = _remembered(f"{real}|{stat.st_size}|{stat.st_mtime_ns}", path, env, memory)
    found = _NUMBER.search(told or "")
    return found[0] if found else None


def _of_package(real: str) -> str | None:
    """What the package.json of the npm package says in which it lies."""
    head, marker, tail = real.rpartition("/node_modules/")
    parts = tail.split("/")
    if not marker or len(parts) < 2:
        return None
    name = parts[:2] if parts[0].startswith("@") else parts[:1]
    try:
        return str(read_object(os.path.join(head, "node_modules", *name, "package.json")).get("version") or "") or None
    except (OSError, BadFile):
        return None


def _remembered(key: str, path: str, env: Mapping[str, str], memory: str) -> str | None:
    known: dict[str, Any] = {}
    try:
        read = read_object(memory, schema=MEMORY_SCHEMA).get("versions")
        known = read if isinstance(read, dict) else {}
    except (OSError, BadFile):
        pass  # it is made anew
    if not isinstance(known.get(key), str):
        told = version(path, env, seconds=START_SECONDS)
        if told is None:
            return None
        kept = dict(list(known.items())[1 - MOST_REMEMBERED :])
        known = {**kept, key: told}
        write_file(memory, encode({"schema_version": MEMORY_SCHEMA, "versions": known}), sync=False)
    return str(known[key])


def version(path: str, env: Mapping[str, str], *, seconds: float = ANSWER_SECONDS) -> str | None:
    """What `PATH --version` prints first that looks like a version, or None where it tells none."""
    kept = {k: v for k, v in env.items() if not k.startswith("FLEET_")}
    try:
        done = subprocess.run(
            [path, "--version"], env=kept, capture_output=True, timeout=seconds, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+\.\d+[\w.+-]*", done.stdout.decode("utf-8", "replace"))
    return found[0] if found and done.returncode == 0 else None


def numbers(version: str) -> tuple[int, ...]:
    """`2.1.197` as something that sorts; what is behind the third number does not count."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
