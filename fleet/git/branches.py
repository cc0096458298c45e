"""Names of branches: which may be made, and what they would collide with."""

from __future__ import annotations

import unicodedata

from fleet.errors import Refused, UsageError
from fleet.git.repository import HEADS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.git.runner import Git

LONGEST_BYTES = 200  #: with refs/heads/ and .lock still a file name where a name may have 255


def check_name(git: Git, name: str) -> str:
    """
    Return *name* when it may name a branch.

    `check-ref-format --branch` is not asked: it would expand `@{-1}` to the branch before.

    Raises:
        UsageError: it may not.
    """
    hint = "no spaces, no '..', no leading '-', nothing that git itself refuses"
    bad = name.startswith("-") or name in ("HEAD", "@") or len(name.encode("utf-8", "surrogateescape")) > LONGEST_BYTES
    if bad or not name.isprintable() or git.ask("check-ref-format", HEADS + name).status != 0:
        raise UsageError(f"{name!r} cannot be a branch name", hint=hint)
    return name


def local(git: Git) -> dict[str, str]:
    """All local branches with their commits."""
    lines = git.run("for-each-ref", "--format=%(refname) %(objectname)", HEADS).splitlines()
    pairs = (line.rpartition(" ") for line in lines)
    return {name.removeprefix(HEADS): commit for name, _, commit in pairs}


def check_collisions(name: str, known: dict[str, str]) -> None:
    """
    Make sure that a new branch is one on every machine.

    Raises:
        Refused: a branch differs only in case or in the form of its letters, so that a file system may take both for
            one, or lies where a folder for the new one must be.
    """
    for other in known:
        if other != name and _folded(other) == _folded(name):
            raise Refused(
                f"branch {name!r} differs from the existing {other!r} only in case or form of its letters",
                hint=f"use {other!r}, or another name: --worktree NAME",
            )
        if name.startswith(other + "/") or other.startswith(name + "/"):
            raise Refused(
                f"branch {name!r} cannot be made beside the existing {other!r}: one is a folder of the other",
                hint="use another name: --worktree NAME",
            )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def commit_of(git: Git, ref: str) -> str | None:
    """The commit that *ref* names; None when there is none."""
    done = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}")
    return done.out.strip() if done.status == 0 else None


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Whether everything of *older* is in *newer*."""
    return git.holds("merge-base", "--is-ancestor", older, newer)


def named_elsewhere(git: Git, name: str, commit: str) -> bool:
    """Whether another branch, here or as last seen on a remote, or a tag has *commit* too."""
    refs = git.run("for-each-ref", f"--contains={commit}", "--format=%(refname)", HEADS, "refs/remotes/", "refs/tags/")
    return any(ref != HEADS + name for ref in refs.splitlines())


def delete(git: Git, name: str, commit: str) -> None:
    """Delete a branch that is still at *commit*, and its settings. Raises GitFailed when it has moved."""
    git.run("update-ref", "-d", HEADS + name, commit)
    git.ask("config", "--local", "--remove-section", f"branch.{name}")
