"""The worktrees that fleet made: one file each, `trees/<key>.json`, where the key is a hash of the path.

The file is the journal as well: it is written before git is asked for the tree, and goes after the last of it is gone.

    {"schema_version": 1, "path", "repository", "branch", "created_branch": true, "base", "base_commit",
     "stage": "making" | "standing" | "removing" | "going", "agent_id", "owner": {"pid", "pid_start"}, "mark",
     "created_at", "links": ["node_modules"], "source": "/home/me/shop"}
"""

from __future__ import annotations

import dataclasses
import hashlib
import os

from fleet.errors import BadFile
from fleet.formats.atomic import encode, read_object, remove_file, write_file
from fleet.model.tree import Stage, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1
_TEXTS = ("path", "repository", "branch", "base", "base_commit", "agent_id", "mark", "created_at")


def key_of(path: str) -> str:
    """What names a path in file names: 16 hex digits."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


class TreeStore:
    """Files under `trees/`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def get(self, path: str) -> Tree | None:
        """
        What is known of the worktree at *path*.

        Raises:
            BadFile: its file is there and cannot be read.
        """
        try:
            return _read(self._layout.tree(key_of(path)))
        except FileNotFoundError:
            return None

    def all(self) -> tuple[list[Tree], list[BadFile]]:
        """All known worktrees by path, and the files that cannot be read."""
        trees, bad = [], []
        try:
            names = os.listdir(self._layout.trees)
        except FileNotFoundError:
            names = []
        for name in names:
            if not name.endswith(".json") or name.startswith("."):
                continue
            try:
                trees.append(_read(os.path.join(self._layout.trees, name)))
            except FileNotFoundError:
                continue
            except BadFile as e:
                bad.append(e)
        return sorted(trees, key=lambda t: t.path), bad

    def put(self, tree: Tree) -> Tree:
        """Write what is known of a worktree, synced; returns it."""
        data = {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(tree)}
        write_file(self._layout.tree(key_of(tree.path)), encode(data))
        return tree

    def forget(self, path: str) -> None:
        """Know no more of it. Safe to repeat."""
        remove_file(self._layout.tree(key_of(path)))


def _read(file: str) -> Tree:
    data: dict[str, Any] = read_object(file, schema=SCHEMA_VERSION)
    for name in _TEXTS:
        if not isinstance(data.get(name), str):
            raise BadFile(file, f"{name} is {data.get(name)!r}")
    links, owner = data.get("links"), data.get("owner")
    if not isinstance(data.get("created_branch"), bool) or not isinstance(owner, dict):
        raise BadFile(file, "created_branch or owner is missing")
    if not isinstance(links, list) or not all(isinstance(link, str) for link in links):
        raise BadFile(file, f"links is {links!r}")
    source = data.get("source", "")
    if not isinstance(source, str):
        raise BadFile(file, f"source is {source!r}")
    if data.get("stage") not in list(Stage):
        raise BadFile(file, f"stage is {data.get('stage')!r}")
    path = data["path"]
    if not os.path.isabs(path) or os.path.normpath(path) != path or os.path.basename(file) != key_of(path) + ".json":
        raise BadFile(file, f"it is not what is known of {path!r}")
    known = {name: data[name] for name in _TEXTS}
    return Tree(
        **known, created_branch=data["created_branch"], stage=Stage(data["stage"]), owner=owner, links=tuple(links),
        source=source,
    )  # fmt: skip
