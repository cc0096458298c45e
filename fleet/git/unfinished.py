"""Operations of git that wait in a worktree to be continued."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.git.runner import Git

OPERATIONS = {
    "MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection", "rebase-merge": "a rebase", "rebase-apply": "a rebase or am",
}  # fmt: skip


def unfinished(git: Git) -> str | None:
    """An operation that waits to be continued there, in words."""
    folder = git.run("rev-parse", "--path-format=absolute", "--git-dir").rstrip("\n")
    for name, what in OPERATIONS.items():
        if os.path.lexists(os.path.join(folder, name)):
            return f"{what} that is unfinished"
    return None
