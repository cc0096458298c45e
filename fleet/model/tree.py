"""A git worktree that fleet made: what is known of it, and the stages of its life."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Stage(StrEnum):
    """How far it is. What a killed process leaves in the first or last is undone or finished by the next that looks."""

    MAKING = "making"  #: journaled; git, the files brought along and the set-up command may be anywhere
    STANDING = "standing"
    REMOVING = "removing"  #: found to hold nothing that would be lost, and on its way out
    GOING = "going"  #: out of everybody's reach, and found so once more: what is left of it is litter


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One worktree, known by its path."""

    path: str
    repository: str  #: the git directory that the repository's worktrees share
    branch: str
    created_branch: bool  #: fleet made the branch
    base: str  #: what the branch started from, in words: `origin/main`
    base_commit: str
    stage: Stage
    agent_id: str  #: the agent it was made for, or given to again
    owner: Mapping[str, Any]  #: the process that makes, claims or removes it: pid and pid_start
    mark: str  #: what processes of the making carry in FLEET_WORKTREE_OPERATION
    created_at: str
    links: tuple[str, ...] = ()  #: symlinks that fleet put there, relative
    source: str = ""  #: the checkout that they lead to; "" when there are none, or it is not known any more

    def targets(self) -> dict[str, str]:
        """Where each of the links leads, as fleet made it."""
        return {name: f"{self.source}/{name}" for name in self.links}

    def as_field(self) -> dict[str, Any]:
        """What an agent's record says of it."""
        return {
            "path": self.path,
            "branch": self.branch,
            "repository": self.repository,
            "base": self.base,
            "created_branch": self.created_branch,
        }
