"""What a worktree holds that would be lost with it: changes, commits, unfinished operations, other repositories.

Every doubt counts as something to lose. A branch is squash-merged when merging it once more into the default branch
would change nothing there, while the branch itself did change something (`merge-tree --write-tree`, git 2.38).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from fleet.errors import FleetError
from fleet.git.base import REMOTES, default_names, remote_of
from fleet.git.branches import commit_of, is_ancestor
from fleet.git.nested import directory_of, hollow_links, repositories, submodule_commits
from fleet.git.registration import lone_commit
from fleet.git.repository import HEADS
from fleet.git.unfinished import unfinished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.git.runner import Git

Merged = Literal["yes", "squashed", "no"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One worktree, looked at."""

    head: str
    branch: str | None  #: what is checked out there; None when detached
    dirty: str | None  #: what is not committed, in words
    unpushed: int  #: commits that neither a remote-tracking branch nor the default branch has
    merged: Merged  #: into the default branch
    alone: str | None  #: a commit that nothing else names, in words

    @property
    def loss(self) -> str | None:
        """Why it must stay, in words; None when nothing would be lost."""
        if self.dirty:
            return self.dirty
        if self.unpushed and self.merged == "no":
            return f"{self.unpushed} commit{'s' * (self.unpushed > 1)} neither pushed nor merged"
        return self.alone


def look(git: Git, base_commit: str | None, *, ours: Mapping[str, str] | None = None) -> Condition:
    """
    The condition of the worktree that *git* stands at the root of.

    Args:
        base_commit: where its branch started: what is no further is merged.
        ours: links that fleet made there, and where they lead; they are nobody's work.

    Raises:
        FleetError: it could not be found out; then nothing may be removed.
    """
    head = git.run("rev-parse", "--verify", "HEAD^{commit}").strip()
    branch = git.ask("symbolic-ref", "--quiet", "--short", "HEAD").out.strip() or None
    dirty = changes(git, ours) or unfinished(git) or hidden(git) or inside(git)
    elsewhere = _defaults(git, branch)
    if base_commit and commit_of(git, base_commit):
        elsewhere.append(base_commit)
    unpushed = int(git.run("rev-list", "--count", head, "--not", "--remotes", *elsewhere).strip())
    return Condition(head, branch, dirty, unpushed, merged_state(git, head, base_commit, branch), lone_commit(git))


def changes(git: Git, ours: Mapping[str, str] | None = None) -> str | None:
    """What is changed, staged or untracked, in words; None for nothing. *ours* as in `look`."""
    text = git.run(
        "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=none", "--no-renames"
    )
    tracked = untracked = 0
    for line in text.split("\0"):
        if not line or (line.startswith("??") and _is_ours(git.folder, line[3:], ours or {})):
            continue
        if line.startswith("??"):
            untracked += 1
        else:
            tracked += 1
    parts = [f"{n} {word} file{'s' * (n > 1)}" for n, word in ((tracked, "changed"), (untracked, "untracked")) if n]
    return " and ".join(parts) or None


def _is_ours(folder: str, name: str, ours: Mapping[str, str]) -> bool:
    try:
        return name in ours and os.readlink(os.path.join(folder, name)) == ours[name]
    except OSError:  # no symlink any more
        return False


def hidden(git: Git) -> str | None:
    """Files whose changes git was told not to see."""
    sparse = git.ask("config", "--get", "core.sparseCheckout").out.strip() == "true"
    for line in git.run("ls-files", "-v", "-z").split("\0"):
        if line[:1].islower() or (line[:1] == "S" and not sparse):
            return "files marked assume-unchanged or skip-worktree, whose changes git does not show"
    return None


def inside(git: Git) -> str | None:
    """Other repositories that would go with the worktree, and what its own submodules hold, in words."""
    other, submodules = repositories(git)
    if other is not None:
        return other
    for folder in submodules:
        there = git.at(folder)
        if (found := changes(there) or unfinished(there) or hidden(there) or hollow_links(there)) is not None:
            return f"submodule {os.path.relpath(folder, os.path.realpath(git.folder))}: {found}"
    return hollow_links(git) or submodule_commits(git, directory_of(git))


def merged_state(git: Git, head: str, base_commit: str | None, branch: str | None) -> Merged:
    """Whether everything of *head*, the tip of *branch*, is in the default branch, here or as last seen remotely."""
    if base_commit and commit_of(git, base_commit) and is_ancestor(git, head, base_commit):
        return "yes"
    targets = _defaults(git, branch)
    if any(is_ancestor(git, head, target) for target in targets):
        return "yes"
    return "squashed" if any(_squashed(git, head, target) for target in targets) else "no"


def _defaults(git: Git, branch: str | None) -> list[str]:
    """The default branch as it is here and on the remote; never *branch* itself."""
    remote = remote_of(git)
    for name in default_names(git, remote):
        if name == branch:
            continue
        refs = [HEADS + name] + ([f"{REMOTES}{remote}/{name}"] if remote else [])
        found = [commit for ref in refs if (commit := commit_of(git, ref))]
        if found:
            return list(dict.fromkeys(found))
    return []


def _squashed(git: Git, head: str, target: str) -> bool:
    try:
        fork = git.run("merge-base", head, target).strip()
        if git.holds("diff", "--quiet", fork, head):
            return False  # nothing is left of its changes: whether they were meant to go cannot be told
        merged = git.run("merge-tree", "--write-tree", target, head).strip()
        return merged == git.run("rev-parse", target + "^{tree}").strip()
    except FleetError:
        return False
