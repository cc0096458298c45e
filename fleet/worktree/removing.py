"""Removing trees that hold nothing which would be lost, and finishing what was cut short: by the survey's judgement.

The stage "removing" is journaled, then the tree is renamed as a whole, so that nobody finds it by its path, and
looked at again; then "going" is journaled and it is taken away. What a kill leaves before that is put back and judged
anew, what it leaves after that is finished by whoever looks next.
"""

from __future__ import annotations

import dataclasses
import os
import shlex

from fleet.errors import FleetError, Refused
from fleet.formats.atomic import Lock
from fleet.git import branches
from fleet.git.condition import changes, inside, merged_state
from fleet.git.runner import Git
from fleet.model.tree import Stage
from fleet.process.table import own_identity
from fleet.store.trees import TreeStore
from fleet.worktree import undoing
from fleet.worktree.places import repository_key
from fleet.worktree.survey import Fate, judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.model.tree import Tree
    from fleet.worktree.survey import Judgement


LEAVE_SECONDS = 3.0
POLL_SECONDS = 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a tree."""

    judgement: Judgement
    done: bool  #: what its fate says was done
    branch: str | None = None  #: what became of its branch, in words


class Remover:
    """Carries judgements out."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._trees = TreeStore(fleet.layout)

    def lock(self, common: str) -> Lock:
        """The lock of a repository's worktrees."""
        path = self._fleet.layout.repository_lock(repository_key(common))
        return Lock(path, self._fleet.settings.number("worktree.make_seconds"))

    def carry_out(self, path: str) -> Outcome | None:
        """Judge the tree at *path* anew under its repository's lock and do what its fate says; None: it is gone."""
        tree = self._trees.get(path)
        if tree is None:
            return None
        with self.lock(tree.repository):
            tree = self._trees.get(path)
            return None if tree is None else self.settle(tree)

    def settle(self, tree: Tree) -> Outcome:
        """The same for a caller that holds the lock."""
        judgement = judge(self._fleet, tree)
        if judgement.fate == Fate.KEEP:
            if (
                tree.stage == Stage.REMOVING
                and os.path.isdir(tree.path)
                and not self._fleet.owner_lives({"owner": tree.owner})
            ):
                self._trees.put(dataclasses.replace(tree, stage=Stage.STANDING, owner={}))
            return Outcome(judgement, done=False)
        try:
            match judgement.fate:
                case Fate.ADOPT:
                    stands = self._trees.put(dataclasses.replace(tree, stage=Stage.STANDING, owner={}))
                    return Outcome(judgement, done=True) if judgement.holder else self.settle(stands)
                case Fate.FINISH if tree.stage == Stage.REMOVING:
                    return self.settle(self._put_back(tree))
                case Fate.UNDO:
                    undoing.undo(self._fleet, tree)
                    return Outcome(judgement, done=True)
                case _:
                    return Outcome(judgement, done=True, branch=self._remove(tree))
        except FleetError as e:
            return Outcome(dataclasses.replace(judgement, reason=f"could not be removed: {e}"), done=False)

    def _remove(self, tree: Tree) -> str:
        """Remove a tree that was judged; what became of its branch."""
        fleet = self._fleet
        git = Git(tree.repository, fleet.environ)
        trash = undoing.trash_of(tree.path)
        if tree.stage != Stage.GOING:
            tree = self._trees.put(dataclasses.replace(tree, stage=Stage.REMOVING, owner=own_identity()))
            if os.path.isdir(tree.path):
                undoing.remove_folder(trash)
                os.rename(tree.path, trash)
                self._look_again(tree, trash)
            tree = self._trees.put(dataclasses.replace(tree, stage=Stage.GOING))
        undoing.take_away(git, tree.path, fleet.settings.number("worktree.make_seconds"))
        undoing.remove_folder(trash)
        said = self._branch(git, tree)
        undoing.finish(fleet, tree)
        return said

    def _look_again(self, tree: Tree, trash: str) -> None:
        """
        Look once more now that nobody can reach the tree by its path, and put it back when something came meanwhile.

        Git cannot look at submodules there: their repositories name the old path.
        """
        if os.path.lexists(os.path.join(trash, ".gitmodules")):
            return
        try:
            there = Git(trash, self._fleet.environ)
            found = changes(there, tree.targets()) or inside(there)
        except FleetError as e:
            found = f"it could not be looked at: {e}"
        if found is not None:
            self._put_back(tree)
            raise Refused(f"something came meanwhile: {found}")

    def _put_back(self, tree: Tree) -> Tree:
        """Bring a tree back to its place."""
        os.rename(undoing.trash_of(tree.path), tree.path)
        return self._trees.put(dataclasses.replace(tree, stage=Stage.STANDING, owner={}))

    @staticmethod
    def _branch(git: Git, tree: Tree) -> str:
        """Delete the branch when fleet made it and it is merged; what became of it."""
        commit = branches.local(git).get(tree.branch)
        if commit is None:
            return f"branch {tree.branch} is gone"
        if not tree.created_branch:
            return f"branch {tree.branch} stays: fleet did not make it"
        elsewhere = undoing.holder_of(git, tree.branch)
        if elsewhere is not None:
            return f"branch {tree.branch} stays: it is checked out at {elsewhere.path}"
        if merged_state(git, commit, tree.base_commit, tree.branch) != "yes":
            return f"branch {tree.branch} stays at {commit[:10]}: it is not merged, commit by commit"
        if not branches.named_elsewhere(git, tree.branch, commit):
            return f"branch {tree.branch} stays at {commit[:10]}: no other branch or tag has that commit any more"
        branches.delete(git, tree.branch, commit)
        return f"branch {tree.branch} deleted (it was {commit[:10]}, merged)"


def way_out(fleet: Fleet, agent: Agent) -> str | None:
    """How the worktree that *agent* works in without owning it goes in the end; None when it works in none of ours."""
    inside_of = (t for t in TreeStore(fleet.layout).all()[0] if f"{agent.cwd}/".startswith(f"{t.path}/"))
    tree = next(inside_of, None)
    if tree is None:
        return None
    owners = (a.id for a in fleet.agents.living().agents if (a.worktree or {}).get("path") == tree.path)
    owner = next(owners, None)
    if owner is None:
        return f"`fleet stop {agent.id}`, then `fleet worktree prune --apply` removes {tree.path}"
    return (
        f"it works in the worktree of agent {owner}: `fleet stop {agent.id}`, "
        f"then `fleet stop {owner} --remove-worktree`"
    )


def remove_one(fleet: Fleet, path: str) -> tuple[bool, str, str]:
    """
    Whether the tree at *path* could be removed, why (not), in words, and what to do where it could not.

    The hooks of an agent that was just ended take a moment to notice.
    """
    end = fleet.clock.monotonic() + LEAVE_SECONDS
    hint = f"look at it with `git -C {shlex.quote(path)} status`, then `fleet worktree prune --apply`"
    try:
        outcome = Remover(fleet).carry_out(path)
        while outcome is not None and outcome.judgement.occupied and fleet.clock.monotonic() < end:
            fleet.clock.sleep(POLL_SECONDS)
            outcome = Remover(fleet).carry_out(path)
    except FleetError as e:
        return False, str(e), hint
    if outcome is None:
        there = os.path.lexists(path)
        return not there, "fleet has no file that says it made it" if there else "it is gone already", hint
    gone = outcome.done and outcome.judgement.fate != Fate.ADOPT
    words = f"{outcome.judgement.reason}; {outcome.branch}" if outcome.branch else outcome.judgement.reason
    entry, holder = outcome.judgement.entry, outcome.judgement.holder
    if holder is not None:
        hint = f"`fleet stop {holder}`, then `fleet worktree prune --apply`"
    elif entry is not None and entry.locked is not None:
        hint = f"`{undoing.unlocking(path)}`, then `fleet worktree prune --apply`"
    return gone, words, hint
