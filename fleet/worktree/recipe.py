"""`.fleet/worktree.yaml`: what a fresh worktree of a repository needs besides what git puts there.

    copy: [".env", "config/*.local"]     ignored files and folders to copy from the checkout that --cwd lies in
    link: [node_modules]                 ... to link to
    setup: "npm ci"                      a command for `sh -c`, run in the root of the new tree

Patterns are relative to the root of the repository: `*`, `?` and `[...]` within a name, `**` for any folders.

It is read as it lies on disk in that checkout, where the operator sees it and where the files to bring are; where
there is no checkout, or none of it there, from the commit that the tree is made of. Either way it is used only after
the operator has confirmed exactly these bytes once for that repository.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass

from fleet.errors import BadFile, Refused, UsageError
from fleet.formats.atomic import create_file, encode, read_bytes
from fleet.formats.times import rfc3339
from fleet.worktree.places import repository_key
from fleet.yaml_files import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.formats.layout import Layout
    from fleet.git.repository import Repository
    from fleet.git.runner import Git
    from fleet.model.orders import WorktreeWish

FILE = ".fleet/worktree.yaml"
LONGEST_BYTES = 64 * 1024
NAMES = ("copy", "link", "setup")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one such file asks for."""

    copy: tuple[str, ...]
    link: tuple[str, ...]
    setup: str | None
    source: str  #: where it was read, in words
    digest: str

    def lines(self) -> list[str]:
        """What it would do, for the operator to read; control characters made visible."""
        shown = [f"{self.source} asks for:"]
        shown += [f"  {what}: {_visible(pattern)}" for what in ("copy", "link") for pattern in getattr(self, what)]
        shown += [f"  setup: {_visible(line)}" for line in (self.setup or "").splitlines()]
        return shown


class Unconfirmed(Refused):
    """The operator has not confirmed a set-up file yet."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(
            f"{recipe.source} is new or has changed and was not confirmed",
            hint="read it, then dispatch with --trust-setup once",
        )
        self.recipe = recipe


def on_disk(repository: Repository) -> Recipe | None:
    """
    The recipe in the checkout.

    Raises:
        UsageError: it is not what it should be.
    """
    if repository.top is None:
        return None
    path = os.path.join(repository.top, FILE)
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(mode) or os.path.realpath(path) != path:
        raise UsageError(f"{path} is not a regular file of the repository")
    try:
        return parse(read_bytes(path, LONGEST_BYTES), path)
    except (BadFile, FileNotFoundError) as e:
        raise UsageError(f"cannot read {path}: {e}") from e


def in_commit(git: Git, commit: str) -> Recipe | None:
    """The recipe in a commit, as `on_disk`."""
    listed = git.run("ls-tree", "-l", commit, "--", FILE).split()
    if not listed:
        return None
    source = f"{FILE} of commit {commit[:10]}"
    if listed[0] not in ("100644", "100755") or int(listed[3]) > LONGEST_BYTES:
        raise UsageError(f"{source} is not a regular file of at most {LONGEST_BYTES} bytes")
    return parse(os.fsencode(git.run("cat-file", "blob", listed[2])), source)


def parse(raw: bytes, source: str) -> Recipe:
    """
    What the bytes of the file ask for.

    Raises:
        UsageError: they cannot be understood, or a pattern leaves the repository; names what.
    """
    import yaml  # noqa: PLC0415  # 15 ms, paid only where a repository has such a file

    try:
        data = load(raw)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as e:
        raise UsageError(f"{source}: not YAML: {' '.join(str(e).split())}") from e
    data = {} if data is None else data
    if not isinstance(data, dict) or any(name not in NAMES for name in data):
        raise UsageError(f"{source}: expected some of {', '.join(NAMES)}", hint="for example: copy: ['.env']")
    setup = data.get("setup")
    if setup is not None and (not isinstance(setup, str) or not setup.strip() or "\0" in setup):
        raise UsageError(f"{source}: setup cannot be {setup!r}", hint='give one command: setup: "npm ci"')
    copy, link = (_patterns(source, name, data.get(name)) for name in ("copy", "link"))
    return Recipe(copy, link, setup, source, hashlib.sha256(raw).hexdigest())


def _patterns(source: str, name: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"{source}: {name} is no list of patterns")
    for one in value:
        parts = one.split("/")
        if not one.strip("/") or one.startswith("/") or not one.isprintable() or {"..", ".git"} & set(parts):
            raise UsageError(f"{source}: {name}: {one!r} does not stay in the repository",
                             hint="give paths below the repository's root, without '..' and '.git'")  # fmt: skip
    return tuple(value)


def check_confirmed(layout: Layout, repository: Repository, recipe: Recipe, wish: WorktreeWish, wall: float) -> None:
    """
    Make sure that the operator has confirmed the recipe, now or before.

    Raises:
        Unconfirmed: no.
    """
    path = layout.consent(repository_key(repository.common), recipe.digest)
    if os.path.exists(path):
        return
    if not wish.trust_setup and wish.confirmed != recipe.digest:
        raise Unconfirmed(recipe)
    data = {
        "schema_version": 1,
        "repository": repository.common,
        "confirmed_at": rfc3339(wall),
        "asked": recipe.lines(),
    }
    create_file(path, encode(data))


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
