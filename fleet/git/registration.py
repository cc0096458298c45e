"""What only git's own directory of a worktree holds: commits that nothing else names, its index, what was begun there.

Of a worktree its own are HEAD, the reflog of that, and refs/worktree, refs/bisect and refs/rewritten (git 2.39.5); all
other refs, refs/stash among them, are the repository's.
"""

from __future__ import annotations

import os

from fleet.git.nested import submodule_commits
from fleet.git.unfinished import unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.git.runner import Git

REFLOG_ENTRIES = 1000  #: the newest ones; more would be more than one call takes as arguments
OWN_REFS = ("--glob=refs/worktree", "--glob=refs/bisect", "--glob=refs/rewritten")


def lone_commit(git: Git) -> str | None:
    """A commit that only the worktree which *git* stands in knows, in words."""
    known = ["HEAD"]
    if git.ask("reflog", "exists", "HEAD").status == 0:
        known += git.run("rev-list", "--walk-reflogs", f"--max-count={REFLOG_ENTRIES}", "HEAD", "--").split()
    found = git.run(
        "rev-list", "--max-count=1", "--ignore-missing", *dict.fromkeys(known), *OWN_REFS, "--not", "--branches",
        "--tags", "--remotes", "--",
    ).strip()  # fmt: skip
    return f"commit {found[:10]}, which no branch, tag or remote has (see its reflog)" if found else None


def directory_for(common: str, path: str) -> str | None:
    """The git directory of the worktree that is registered for *path*, whose folder may be gone."""
    folder = os.path.join(common, "worktrees")
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        try:
            with open(os.path.join(folder, name, "gitdir"), "rb") as f:
                named = os.fsdecode(f.read()).rstrip("\n")
        except OSError:
            continue
        if os.path.realpath(os.path.dirname(os.path.join(folder, name, named))) == path:
            return os.path.join(folder, name)
    return None


def held(git: Git, common: str, path: str) -> str | None:
    """
    What would be lost with the registration of *path*, whose folder is gone, in words.

    Raises:
        FleetError: it could not be found out; then it may not be removed.
    """
    directory = directory_for(common, path)
    if directory is None:
        return "what could not be found"
    there = git.at(directory)
    if (found := lone_commit(there) or unfinished(there) or submodule_commits(git, directory)) is not None:
        return found
    return None if there.holds("diff-index", "--cached", "--quiet", "HEAD", "--") else "staged changes"
