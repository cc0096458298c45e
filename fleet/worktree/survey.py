"""Judging the worktrees that fleet made: who holds each, what it holds, and what may become of it.

The one judgement behind `fleet worktree list`, `prune` (dry or not) and `stop --remove-worktree`. Whatever could not
be looked at is kept, and so is whatever fleet has no file of.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum

from fleet.errors import BadFile, FleetError
from fleet.formats import launch
from fleet.git import branches, registration
from fleet.git.condition import look
from fleet.git.repository import discover
from fleet.git.runner import Git
from fleet.model.tree import Stage
from fleet.process.table import environment_marks, folder_of, read_table
from fleet.store.trees import TreeStore
from fleet.worktree.places import root_of
from fleet.worktree.undoing import check_place, entry_of, is_of_making, trash_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.git.condition import Condition
    from fleet.git.repository import Entry
    from fleet.model.tree import Tree


class Fate(StrEnum):
    """What may become of a tree."""

    KEEP = "keep"
    REMOVE = "remove"  #: nobody holds it and nothing would be lost with it
    UNDO = "undo"  #: its making was cut short, and no agent ever had it
    FINISH = "finish"  #: its removal was cut short; where it was not looked at twice, it is looked at again
    FORGET = "forget"  #: it is gone; what is left is its registration or fleet's file of it
    ADOPT = "adopt"  #: its making was cut short after an agent had got it, or work was done in it: it stands


@dataclass(frozen=True, slots=True)
class Judgement:
    """One tree, looked at."""

    path: str
    tree: Tree | None  #: None for a folder that fleet has no file of
    fate: Fate
    reason: str  #: why, in words
    holder: str | None = None  #: the living agent that works there
    entry: Entry | None = None  #: git's registration
    condition: Condition | None = None
    occupied: bool = False  #: nothing but a process that stands there keeps it

    @property
    def lost(self) -> bool:
        """Registered without a folder, or a folder without registration."""
        return self.tree is not None and os.path.isdir(self.path) != (self.entry is not None)


def survey(fleet: Fleet) -> list[Judgement]:
    """Every tree of this fleet and every other folder at their place, by path."""
    trees, bad = TreeStore(fleet.layout).all()
    found = [judge(fleet, tree) for tree in trees]
    known = {path for tree in trees for path in (tree.path, trash_of(tree.path))}
    for root in sorted({root_of(fleet.layout, fleet.settings), os.path.realpath(fleet.layout.worktrees)}):
        strange = (path for path in _folders(root) if path not in known)
        found += [
            Judgement(path, None, Fate.KEEP, "unknown: fleet did not make it, or lost its file") for path in strange
        ]
    found += [Judgement(e.path, None, Fate.KEEP, f"its file cannot be read: {e.reason}") for e in bad]
    return sorted(found, key=lambda j: j.path)


def judge(fleet: Fleet, tree: Tree) -> Judgement:
    """What may become of one tree."""
    try:
        check_place(fleet, tree)
        holder = holder_of_tree(fleet, tree)
        if not os.path.isdir(tree.repository):
            return Judgement(tree.path, tree, Fate.KEEP, f"its repository {tree.repository} is gone", holder)
        entry = entry_of(Git(tree.repository, fleet.environ), tree.path)
        if holder is not None:
            return _held(fleet, tree, holder, entry)
        if fleet.owner_lives({"owner": tree.owner}):
            doing = {Stage.MAKING: "being made", Stage.REMOVING: "being removed", Stage.GOING: "being removed"}.get(
                tree.stage, "being given out"
            )
            return Judgement(tree.path, tree, Fate.KEEP, f"it is {doing} by process {tree.owner['pid']}", None, entry)
        if tree.stage == Stage.MAKING:
            return _half_made(fleet, tree, entry)
        return _free(fleet, tree, entry)
    except FleetError as e:
        return Judgement(tree.path, tree, Fate.KEEP, f"could not look: {e}")


def holder_of_tree(fleet: Fleet, tree: Tree) -> str | None:
    """
    The agent that has the tree: one with a record, ended or not, until `fleet stop` files it away.

    Raises:
        BadFile: a record cannot be read: it may be that of the holder.
    """
    listing = fleet.agents.living()
    if listing.bad:
        raise listing.bad[0]
    for agent in listing.agents:
        inside = agent.cwd == tree.path or agent.cwd.startswith(tree.path + "/")
        if inside or (agent.worktree or {}).get("path") == tree.path:
            return agent.id
    return None


def _held(fleet: Fleet, tree: Tree, holder: str, entry: Entry | None) -> Judgement:
    fate = Fate.ADOPT if tree.stage == Stage.MAKING and not fleet.owner_lives({"owner": tree.owner}) else Fate.KEEP
    condition = None
    if entry is not None and os.path.isdir(tree.path):
        try:
            condition = look(Git(tree.path, fleet.environ), tree.base_commit, ours=tree.targets())
        except FleetError:
            pass
    return Judgement(tree.path, tree, fate, f"agent {holder} has it", holder, entry, condition)


def _half_made(fleet: Fleet, tree: Tree, entry: Entry | None) -> Judgement:
    archived = fleet.agents.archived(tree.agent_id)
    if archived is not None and (archived.worktree or {}).get("path") == tree.path:
        return Judgement(tree.path, tree, Fate.ADOPT, "an agent has had it", None, entry)
    try:
        start = launch.read(fleet.layout, tree.agent_id)
        if launch.is_released(fleet.layout, tree.agent_id, start["nonce"]):
            return Judgement(tree.path, tree, Fate.KEEP, "its agent is being taken up by the drain", None, entry)
    except (FileNotFoundError, BadFile):
        pass
    git = Git(tree.repository, fleet.environ)
    tip = branches.local(git).get(tree.branch)
    head = entry.head if entry is not None and set(entry.head or "") != {"0"} else None  # zeros until git got that far
    if (tree.created_branch and tip not in (None, tree.base_commit)) or head not in (None, tree.base_commit):
        return Judgement(tree.path, tree, Fate.ADOPT, "it has commits", None, entry)
    if (who := occupant(tree, unborn=True)) is not None:
        return Judgement(tree.path, tree, Fate.KEEP, who, None, entry, occupied=True)
    return Judgement(tree.path, tree, Fate.UNDO, "its making was cut short", None, entry)


def _free(fleet: Fleet, tree: Tree, entry: Entry | None) -> Judgement:
    there = os.path.isdir(tree.path)
    if tree.stage == Stage.GOING and os.path.lexists(tree.path):
        return Judgement(tree.path, tree, Fate.KEEP, "something new is at its place", None, entry)
    if tree.stage == Stage.GOING or (
        tree.stage == Stage.REMOVING and not os.path.lexists(tree.path) and os.path.isdir(trash_of(tree.path))
    ):
        return Judgement(tree.path, tree, Fate.FINISH, "its removal was cut short", None, entry)
    if entry is not None and entry.locked is not None:
        return Judgement(tree.path, tree, Fate.KEEP, f"it is locked: {entry.locked or 'no reason given'}", None, entry)
    if not there:
        return _gone(fleet, tree, entry)
    if entry is None:
        return Judgement(tree.path, tree, Fate.KEEP, "lost: its repository no longer has it registered")
    git = Git(tree.path, fleet.environ)
    here = discover(tree.path, fleet.environ)
    if (here.top, here.common) != (tree.path, tree.repository):
        return Judgement(tree.path, tree, Fate.KEEP, "lost: the folder is no longer that worktree", None, entry)
    condition = look(git, tree.base_commit, ours=tree.targets())
    if condition.loss is not None:
        return Judgement(tree.path, tree, Fate.KEEP, condition.loss, None, entry, condition)
    if (who := occupant(tree)) is not None:
        return Judgement(tree.path, tree, Fate.KEEP, who, None, entry, condition, occupied=True)
    words = {"yes": "merged", "squashed": "merged by a squash", "no": "pushed"}[condition.merged]
    return Judgement(tree.path, tree, Fate.REMOVE, f"clean and {words}", None, entry, condition)


def _gone(fleet: Fleet, tree: Tree, entry: Entry | None) -> Judgement:
    """A tree without its folder, which may only have been moved."""
    words = "its folder is gone"
    if entry is not None:
        kept = registration.held(Git(tree.repository, fleet.environ), tree.repository, tree.path)
        if kept is not None:
            return Judgement(tree.path, tree, Fate.KEEP, f"{words}, and its registration holds {kept}", None, entry)
    return Judgement(tree.path, tree, Fate.FORGET, words, None, entry)


def occupant(tree: Tree, *, unborn: bool = False) -> str | None:
    """A process that has its working directory there; of a tree that is *unborn* none that its making started."""
    for process in read_table().by_pid.values():
        folder = None if process.zombie else folder_of(process.pid)
        if folder is None or not (folder == tree.path or folder.startswith(tree.path + "/")):
            continue
        if not (unborn and is_of_making(tree, environment_marks(process.pid) or {})):
            return f"process {process.pid} ({process.name}) has its working directory there"
    return None


def _folders(root: str) -> list[str]:
    found = []
    for repository in _names(root):
        found += [os.path.join(repository, name) for name in sorted(os.listdir(repository))]
    return found


def _names(root: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
