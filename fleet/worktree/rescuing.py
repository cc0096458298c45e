"""Saving what an agent has not committed, and freeing the worktree that it worked in.

    rescues/<id>-<time>.patch           git apply --index takes it on a clean checkout of the commit that it builds on
    rescues/<id>-<time>.staged.patch    the same of what was staged, where neither the commit nor the files have it

What a patch cannot hold is said, and then the tree stays: repositories below it, work inside of submodules, an
operation of git that waits to be continued, conflicts, commits that nothing else names. What git ignores is not saved.
No patch is written over another one: the next free name is taken, unless one of that agent's holds the very same.
There is one rescue of an agent at a time. A tree is
only freed when fleet made it, no agent has it, and what it holds is, object for object, what was saved; it is renamed
first and looked at again, as `removing` does; what a kill leaves is finished or put back by whoever looks next, with
that one's steps. Its branch stays: the next agent goes on there.
"""

from __future__ import annotations

import dataclasses
import filecmp
import itertools
import os

from fleet.errors import FleetError, NotFound, Refused, TimedOut, UsageError
from fleet.formats.atomic import Lock, ensure_dir, remove_file, sync_dir, temporary
from fleet.git.condition import inside
from fleet.git.nested import strangers
from fleet.git.patch import Scratch, Work, sync
from fleet.git.registration import lone_commit
from fleet.git.repository import discover
from fleet.git.runner import Git
from fleet.git.unfinished import unfinished
from fleet.model.tree import Stage
from fleet.process.table import own_identity
from fleet.store.trees import TreeStore
from fleet.worktree import undoing
from fleet.worktree.removing import LEAVE_SECONDS, POLL_SECONDS, Remover
from fleet.worktree.survey import Fate, holder_of_tree, occupant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.model.tree import Tree

WAIT_SECONDS = 1.0  #: for another rescue of the same agent, before it is refused


@dataclasses.dataclass(frozen=True, slots=True)
class Saved:
    """What was saved of one working tree."""

    top: str  #: the root of the working tree
    work: Work
    patch: str | None  #: None: the files are as they were committed
    staged: str | None = None  #: the patch of what only the index held; None: it held nothing alone
    missing: str | None = None  #: what no patch holds, in words
    own: tuple[str, ...] = dataclasses.field(default=(), compare=False)  #: those that this rescue has written

    @property
    def patches(self) -> list[str]:
        """Those that there are."""
        return [one for one in (self.patch, self.staged) if one is not None]


def working_tree(fleet: Fleet, agent: Agent) -> str:
    """
    The root of the working tree that *agent* works in.

    Raises:
        NotFound: it works in none, or it is gone.
        Refused: git will not say.
    """
    if not os.path.isdir(agent.cwd):
        raise NotFound(f"the working directory {agent.cwd} of agent {agent.id} is gone")
    try:
        top = discover(agent.cwd, fleet.environ).top
    except UsageError as e:
        raise NotFound(f"agent {agent.id} works in no git working tree: {e}") from e
    if top is None:
        raise NotFound(f"agent {agent.id} works in a bare repository")
    return top


class Alone(Lock):
    """One rescue of an agent at a time; another one is refused when it waited for a moment."""

    def __init__(self, fleet: Fleet, agent: Agent) -> None:
        super().__init__(fleet.layout.rescue_lock(agent.id), WAIT_SECONDS)
        self._agent_id = agent.id

    def __enter__(self) -> Self:
        """
        Take the lock.

        Raises:
            Refused: another rescue of the agent is under way.
        """
        try:
            return super().__enter__()
        except TimedOut as e:
            raise Refused(f"another rescue of agent {self._agent_id} is under way; this one did nothing") from e


def save(fleet: Fleet, agent: Agent, time: str, earlier: Saved | None = None) -> Saved:
    """
    Save what is not committed in the working tree of *agent*, as it is now. Safe to repeat under the same *time*.

    Args:
        time: names the patches, with a number where that name is taken by other ones.
        earlier: what this rescue saved before: it stands when nothing has changed, and goes when this is done.

    Raises:
        NotFound: there is no working tree.
        FleetError: it could not be saved; no new patch is left.
    """
    top = working_tree(fleet, agent)
    git = Git(top, fleet.environ)
    ensure_dir(fleet.layout.rescues)
    partial = temporary(fleet.layout.rescue(agent.id, time))
    partial_staged = temporary(fleet.layout.rescue_staged(agent.id, time))
    below = strangers(git)
    try:
        with Scratch(git, fleet.layout.rescues, [*_links(TreeStore(fleet.layout).get(top), top), *below]) as scratch:
            work = scratch.look()
            missing = _missing(git, work, below)
            if earlier is not None and earlier.work == work and all(os.path.isfile(one) for one in earlier.patches):
                return dataclasses.replace(earlier, missing=missing)
            if not work.is_nothing:
                scratch.save(work, work.tree, partial)
            if work.staged_tree is not None:
                scratch.save(work, work.staged_tree, partial_staged)
        saved = _publish(fleet, agent, time, (partial, partial_staged), Saved(top, work, None, None, missing))
        for one in earlier.own if earlier is not None else ():
            if one not in saved.patches:
                remove_file(one)
    except OSError as e:
        raise Refused(f"the patch could not be written: {e.strerror}: {e.filename}") from e
    finally:
        remove_file(partial)
        remove_file(partial_staged)
    return saved


def _publish(fleet: Fleet, agent: Agent, time: str, partials: tuple[str, str], saved: Saved) -> Saved:
    """Give the patches that were written a pair of names, durably: that of the very same, or their own."""
    layout, own = fleet.layout, []
    earlier = [one for one in _times(fleet, agent) if one != time]
    free = (time if n == 1 else f"{time}-{n}" for n in itertools.count(1))

    def named(one: str) -> list[tuple[str, str]]:
        return list(zip(partials, (layout.rescue(agent.id, one), layout.rescue_staged(agent.id, one)), strict=True))

    pair = next((p for p in map(named, earlier) if all(_same_bytes(*two) for two in p)), None)
    if pair is None:
        pair = next(p for p in map(named, free) if all(not os.path.lexists(two[1]) or _same_bytes(*two) for two in p))
    for one, name in pair:
        if os.path.exists(one) and not os.path.exists(name):
            sync(one)
            os.link(one, name)
            own.append(name)
    sync_dir(fleet.layout.rescues)
    patch, staged = (name if os.path.exists(one) else None for one, name in pair)
    return dataclasses.replace(saved, patch=patch, staged=staged, own=tuple(own))


def _times(fleet: Fleet, agent: Agent) -> list[str]:
    """What names the patches that there are of *agent*, the oldest first."""
    names, prefix = os.listdir(fleet.layout.rescues), f"{agent.id}-"
    mine = (name.removeprefix(prefix) for name in names if name.startswith(prefix) and name.endswith(".patch"))
    return sorted({name.removesuffix(".patch").removesuffix(".staged") for name in mine})


def _same_bytes(one: str, other: str) -> bool:
    """Whether both are the same, byte for byte, or neither is there."""
    if not os.path.lexists(one) or not os.path.lexists(other):
        return os.path.lexists(one) == os.path.lexists(other)
    return os.path.isfile(one) and os.path.isfile(other) and filecmp.cmp(one, other, shallow=False)


def _links(tree: Tree | None, place: str) -> list[str]:
    """Links that fleet made in a tree and that are still what it made, looked for where it is now."""
    found = []
    for name, target in (tree.targets() if tree is not None else {}).items():
        try:
            if os.readlink(os.path.join(place, name)) == target:
                found.append(name)
        except OSError:
            continue
    return found


def _missing(git: Git, work: Work, below: list[str]) -> str | None:
    """What no patch of *work* holds and a removal would take along, in words."""
    if below:
        return f"another repository below it, {below[0]}"
    try:
        if work.base is None:
            return unfinished(git) or _conflicts(work)
        return inside(git) or unfinished(git) or _conflicts(work) or lone_commit(git)
    except FleetError as e:
        return f"what could not be looked into: {e}"


def _conflicts(work: Work) -> str | None:
    return f"the sides of the conflict in {work.conflicts[1]}" if work.conflicts else None


def go_on(fleet: Fleet, agent: Agent) -> Tree | None:
    """
    Finish or take back the removal of *agent*'s own tree that a kill cut short; the tree when it is gone now.

    One that was moved away and had not been looked at again is back at its place, and not returned.

    Raises:
        FleetError: another process has the repository's worktrees.
    """
    path = (agent.worktree or {}).get("path")
    tree = TreeStore(fleet.layout).get(path) if path else None
    if tree is None or tree.stage not in (Stage.REMOVING, Stage.GOING):
        return None
    outcome = Remover(fleet).carry_out(tree.path)
    gone = outcome is None or (outcome.done and outcome.judgement.fate != Fate.ADOPT)
    return tree if gone else None


def free(fleet: Fleet, saved: Saved) -> str:
    """
    Remove the worktree that was saved; what became of it, in words. Its agent has been filed away.

    Raises:
        FleetError: it stays, and why.
    """
    tree = TreeStore(fleet.layout).get(saved.top)
    if tree is None:
        raise NotFound("fleet did not make it")
    end = fleet.clock.monotonic() + LEAVE_SECONDS
    while (who := occupant(tree)) is not None:  # what belonged to the agent takes a moment to notice
        if fleet.clock.monotonic() >= end:
            raise Refused(who)
        fleet.clock.sleep(POLL_SECONDS)
    with Remover(fleet).lock(tree.repository):
        tree = TreeStore(fleet.layout).get(saved.top)
        if tree is None:
            return "it is gone already"
        _check(fleet, tree, saved)
        _remove(fleet, tree, saved)
    return f"branch {tree.branch} stays"


def _check(fleet: Fleet, tree: Tree, saved: Saved) -> None:
    undoing.check_place(fleet, tree)
    if tree.stage != Stage.STANDING and fleet.owner_lives({"owner": tree.owner}):
        raise Refused(f"it is being {tree.stage} by process {tree.owner['pid']}")
    if (holder := holder_of_tree(fleet, tree)) is not None:
        raise Refused(f"agent {holder} has it")
    entry = undoing.entry_of(Git(tree.repository, fleet.environ), tree.path)
    if entry is None:
        raise Refused("its repository no longer has it registered")
    if entry.locked is not None:
        raise Refused(f"it is locked: {entry.locked or 'no reason given'}")
    if saved.missing is not None:
        raise Refused(f"no patch holds {saved.missing}")
    _same(fleet, tree, saved, tree.path)


def _same(fleet: Fleet, tree: Tree, saved: Saved, place: str) -> None:
    """Make sure that the tree, wherever it is now, holds what was saved and nothing else."""
    git = Git(place, fleet.environ)
    with Scratch(git, fleet.layout.rescues, _links(tree, place)) as scratch:
        now = scratch.look()
    if now != saved.work:
        raise Refused("something was changed in it after it had been saved")


def _remove(fleet: Fleet, tree: Tree, saved: Saved) -> None:
    trees = TreeStore(fleet.layout)
    tree = trees.put(dataclasses.replace(tree, stage=Stage.REMOVING, owner=own_identity()))
    trash = undoing.trash_of(tree.path)
    undoing.remove_folder(trash)
    os.rename(tree.path, trash)
    try:
        if not os.path.lexists(os.path.join(trash, ".gitmodules")):  # git cannot look at submodules there
            _same(fleet, tree, saved, trash)
    except FleetError:
        os.rename(trash, tree.path)
        trees.put(dataclasses.replace(tree, stage=Stage.STANDING, owner={}))
        raise
    # From here on it only goes. Whoever finishes that leaves its branch: the next agent goes on there.
    tree = trees.put(dataclasses.replace(tree, stage=Stage.GOING, created_branch=False))
    undoing.take_away(Git(tree.repository, fleet.environ), tree.path, fleet.settings.number("worktree.make_seconds"))
    undoing.remove_folder(trash)
    undoing.finish(fleet, tree)
