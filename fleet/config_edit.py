"""Changing one setting in a YAML file that somebody wrote by hand: comments, order and style stay as they are.

ruamel.yaml reads the file with its comments and writes it back; what it cannot keep exactly (the width of an indent
that is unusual) it normalises, so a file is only ever written when a value changes. Line ends stay as most of them are.
"""

from __future__ import annotations

import io
import os

from fleet.errors import BadFile, UsageError
from fleet.formats.atomic import ensure_dir, read_bytes, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_LINE = "# yaml-language-server: $schema={}\n"


def change(path: str, name: str, value: Any, *, remove: bool = False) -> bytes:
    """
    The bytes of *path* with the dotted setting *name* set to *value*, or without it.

    Raises:
        UsageError: the file is no YAML of names and values.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415  # 60 ms, paid only where a file is changed
    from ruamel.yaml.comments import CommentedMap  # noqa: PLC0415  # paid only where it is used
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415  # paid only where it is used

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    try:
        text = read_bytes(path).decode()
    except FileNotFoundError:
        text = ""
    except (BadFile, UnicodeDecodeError) as e:
        raise UsageError(f"cannot read {path}: {e}") from e
    ends = "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"
    text = text.replace("\r\n", "\n")
    try:
        data = yaml.load(text)
    except YAMLError as e:
        raise UsageError(f"{path}: not YAML: {' '.join(str(e).split())}") from e
    if data is None:
        data, head = CommentedMap(), text if text.endswith("\n") or not text else text + "\n"
    else:
        head = ""
    if not isinstance(data, dict):
        raise UsageError(f"{path}: expected names with values")
    _put(data, name.split("."), value, remove=remove, new=CommentedMap)
    out = io.StringIO()
    if data:
        yaml.dump(data, out)
    return (head + out.getvalue()).replace("\n", ends).encode()


def _put(data: Any, parts: list[str], value: Any, *, remove: bool, new: Any) -> None:
    """Set or remove one leaf; a group that has become empty goes with it."""
    *groups, leaf = parts
    path = [data]
    for group in groups:
        inner = path[-1].get(group)
        if not isinstance(inner, dict):
            if remove:
                return
            inner = path[-1][group] = new()
        path.append(inner)
    if not remove:
        path[-1][leaf] = value
        return
    path[-1].pop(leaf, None)
    for above, group in reversed(list(zip(path, groups, strict=False))):
        if not above[group]:
            del above[group]


def write(path: str, data: bytes) -> None:
    """Replace the file behind *path*: a link stays a link, the mode stays; a new file is 0600."""
    target = os.path.realpath(path)
    ensure_dir(os.path.dirname(target))
    try:
        mode = os.stat(target).st_mode & 0o777
    except FileNotFoundError:
        mode = 0o600
    write_file(target, data)
    os.chmod(target, mode)
