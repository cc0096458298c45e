"""Which repository a folder belongs to, and its worktrees as git lists them.

A linked worktree, a bare repository with worktrees beside it, a folder whose `.git` file names a bare repository, and
a submodule all answer `rev-parse` alike (git 2.39.5); `core.worktree`, which a submodule has in its shared
configuration, does not reach its linked worktrees.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from fleet.errors import Refused, UsageError
from fleet.git.runner import Git, GitFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HEADS = "refs/heads/"
UNKNOWN_OPTION = 129  #: what git exits with when it is too old for an option


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository, as seen from one folder in it."""

    common: str  #: the git directory that all its worktrees share, with symlinks resolved
    top: str | None  #: the work tree that the folder lies in; None in a bare repository
    sub: str  #: the folder below that work tree, "" for its root
    superproject: str | None  #: the work tree that it is a submodule of

    @property
    def place(self) -> str:
        """A folder to run git from."""
        return self.top or self.common

    @property
    def name(self) -> str:
        """What people call it: the name of the main checkout, or of the bare repository."""
        base = os.path.basename(self.common)
        if base in (".git", ".bare"):
            base = os.path.basename(os.path.dirname(self.common))
        return base.removesuffix(".git") or "repository"


@dataclass(frozen=True, slots=True)
class Entry:
    """One worktree as git has it registered."""

    path: str
    head: str | None
    branch: str | None  #: without refs/heads/; None when detached or bare
    bare: bool
    locked: str | None  #: the reason, "" without one; None when it is not locked
    prunable: bool  #: its folder is gone


def discover(folder: str, environ: Mapping[str, str]) -> Repository:
    """
    The repository that *folder* lies in.

    Raises:
        UsageError: it lies in none, or inside a git directory.
        Refused: git will not say (for example because the repository belongs to somebody else).
    """
    git = Git(folder, environ)
    flags = ("--git-common-dir", "--is-bare-repository", "--is-inside-work-tree", "--is-inside-git-dir")
    done = git.ask("rev-parse", "--path-format=absolute", *flags)
    if done.status != 0:
        if "not a git repository" in done.err:
            raise UsageError(f"{folder} is in no git repository: {done.reason()}", hint="--worktree needs one")
        raise Refused(f"git rev-parse: {done.reason()}")
    answer = done.out.split("\n")
    if len(answer) != len(flags) + 1:
        raise Refused(f"git's answer about {folder} cannot be read: its path holds a line break")
    common, bare, inside, in_git = answer[:4]
    common = os.path.realpath(common)
    if inside == "true":
        top = os.path.realpath(git.run("rev-parse", "--path-format=absolute", "--show-toplevel").rstrip("\n"))
        above = git.run("rev-parse", "--show-superproject-working-tree").rstrip("\n")
        sub = os.path.relpath(os.path.realpath(folder), top)
        return Repository(common, top, "" if sub == "." else sub, above or None)
    if bare == "true" and (in_git != "true" or os.path.realpath(folder) == common):
        return Repository(common, None, "", None)
    raise UsageError(f"{folder} lies inside a git directory", hint="give a folder of the work tree with --cwd")


def worktrees(git: Git) -> list[Entry]:
    """All registered worktrees, the main one first."""
    done = git.ask("worktree", "list", "--porcelain", "-z")
    if done.status == UNKNOWN_OPTION:  # before 2.36
        text = git.run("worktree", "list", "--porcelain").replace("\n", "\0")
    elif done.status != 0:
        raise GitFailed("worktree list", done)
    else:
        text = done.out
    found = []
    for block in text.split("\0\0"):
        fields = dict(line.partition(" ")[::2] for line in block.split("\0") if line)
        if "worktree" in fields:
            found.append(_entry(fields))
    return found


def _entry(fields: Mapping[str, str]) -> Entry:
    branch = fields.get("branch", "")
    return Entry(
        path=os.path.realpath(fields["worktree"]),
        head=fields.get("HEAD"),
        branch=branch.removeprefix(HEADS) if branch.startswith(HEADS) else None,
        bare="bare" in fields,
        locked=fields.get("locked"),
        prunable="prunable" in fields or not os.path.isdir(fields["worktree"]),
    )
