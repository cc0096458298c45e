"""Taking a tree back that was never given to an agent: what a failed or killed making left, whatever that is.

`git worktree remove` with two --force takes a tree that git itself left locked ("initializing") or whose folder is
gone, but not one whose `.git` file is gone (git 2.39.5): then the folder is removed first.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal

from fleet.errors import Refused, TimedOut
from fleet.git import branches
from fleet.git.repository import worktrees
from fleet.git.runner import MARK, Git
from fleet.process.ending import signal_processes
from fleet.process.table import environment_marks, read_table
from fleet.store.trees import TreeStore
from fleet.worktree.places import is_inside, root_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.app import Fleet
    from fleet.git.repository import Entry
    from fleet.model.tree import Tree

END_SECONDS = 5.0
POLL_SECONDS = 0.02
LOOKS = 2  #: in a row that find nobody


def undo(fleet: Fleet, tree: Tree) -> None:
    """
    Leave nothing of *tree*: no process, no folder, no registration, no branch that was made for it. Safe to repeat.

    Raises:
        FleetError: something could not be removed; the tree's file stays, so that the next that looks goes on.
    """
    check_place(fleet, tree)
    end_processes(fleet, tree)
    if os.path.isdir(tree.repository):
        git = Git(tree.repository, fleet.environ)
        seconds = fleet.settings.number("worktree.make_seconds")
        take_away(git, tree.path, seconds)
        commit = branches.local(git).get(tree.branch)
        if tree.created_branch and commit is not None and holder_of(git, tree.branch) is None:
            branches.delete(git, tree.branch, commit)
    remove_folder(tree.path)
    finish(fleet, tree)


def take_away(git: Git, path: str, seconds: float) -> None:
    """Remove the registration of *path* and its folder, whatever state they are in."""
    if entry_of(git, path) is None:
        return
    if git.ask("worktree", "remove", "--force", "--force", path, seconds=seconds).status != 0:
        remove_folder(path)
        git.run("worktree", "remove", "--force", "--force", path, seconds=seconds)


def finish(fleet: Fleet, tree: Tree) -> None:
    """Forget a tree that is no more, and the folder of its repository when it was the last."""
    try:
        os.rmdir(os.path.dirname(tree.path))
    except OSError:
        pass
    TreeStore(fleet.layout).forget(tree.path)


def check_place(fleet: Fleet, tree: Tree) -> None:
    """
    Make sure that a tree lies where fleet puts trees.

    Raises:
        Refused: it lies elsewhere, or a symlink leads elsewhere: it is never touched.
    """
    roots = {root_of(fleet.layout, fleet.settings), os.path.realpath(fleet.layout.worktrees)}
    if not any(is_inside(root, tree.path) for root in roots):
        raise Refused(
            f"{tree.path} lies outside of the folder for worktrees", hint="see worktree.folder in config.yaml"
        )


def entry_of(git: Git, path: str) -> Entry | None:
    """The registration of *path*."""
    return next((entry for entry in worktrees(git) if entry.path == path), None)


def holder_of(git: Git, branch: str) -> Entry | None:
    """The worktree that has *branch* checked out."""
    return next((entry for entry in worktrees(git) if entry.branch == branch), None)


def unlocking(path: str) -> str:
    """The command that takes git's lock off the tree at *path*."""
    return f"git -C {shlex.quote(path)} worktree unlock ."


def end_processes(fleet: Fleet, tree: Tree) -> None:
    """
    End what the making started and a killed fleet left running.

    A process that becomes another program has no environment for a moment (Linux 6.18), so one look that finds nobody
    is not enough.
    """
    end, nobody = fleet.clock.monotonic() + END_SECONDS, 0
    while nobody < LOOKS:
        table = read_table()
        marked = [
            process for process in table.by_pid.values()
            if not process.zombie and is_of_making(tree, environment_marks(process.pid) or {})
        ]  # fmt: skip
        nobody = 0 if marked else nobody + 1
        if marked and fleet.clock.monotonic() >= end:
            raise TimedOut(f"processes of the making of {tree.path} would not end: {[p.pid for p in marked]}")
        signal_processes(marked, signal.SIGKILL)
        fleet.clock.sleep(POLL_SECONDS)


def is_of_making(tree: Tree, marks: Mapping[str, str]) -> bool:
    """
    Whether a process with those marks came from the making of a tree that no agent has yet.

    That is git, a hook, the set-up command, or the gate in which the agent would have been held.
    """
    return marks.get(MARK) == tree.mark or marks.get("FLEET_AGENT_ID") == tree.agent_id


def trash_of(path: str) -> str:
    """Where a tree that nobody needs is moved to before it is removed: from then on nobody can find it by its path."""
    folder, name = os.path.split(path)
    return os.path.join(folder, ".gone-" + name)


def remove_folder(path: str) -> None:
    """Remove whatever is at *path*; a symlink is not followed. Raises Refused when something would not go."""
    if not os.path.lexists(path):
        return
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    try:
        shutil.rmtree(path)
    except OSError as e:
        raise Refused(f"{path} cannot be removed: {e.strerror}: {e.filename}") from e
