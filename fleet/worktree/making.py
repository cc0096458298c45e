"""Making a worktree for an agent, or giving one out again: all or nothing.

    look       under the repository's lock: what was cut short before is settled, the tree that is there is judged
    plan       without the lock: the set-up file, and the remote, which was asked before the first look
    decide     under the lock once more, after another look: `trees/<key>.json` journals what will be made
    make       git, submodules, the files to bring along, the set-up command; without the lock, as this may take long
    settle     the agent's record stands: the tree is its own

A failure before that is undone at once, a kill -9 by the next dispatch in the repository or by `worktree prune`.

`git worktree add` runs the post-checkout hook, exits with its status and leaves the tree (git 2.39.5). It copies the
sparse-checkout patterns of the tree that it is run in (since 2.36), so it is run where --cwd is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os

from fleet.errors import FleetError, Refused, TimedOut
from fleet.formats.atomic import ensure_dir
from fleet.formats.ids import new_id
from fleet.formats.times import rfc3339
from fleet.git import branches, registration
from fleet.git.base import Base, here
from fleet.git.condition import changes
from fleet.git.fetching import Fetching
from fleet.git.repository import discover
from fleet.git.runner import MARK, Git, GitFailed
from fleet.git.submodules import bring_submodules
from fleet.git.unfinished import unfinished
from fleet.model.tree import Stage, Tree
from fleet.process.table import own_identity
from fleet.store.trees import TreeStore
from fleet.worktree import recipe, settingup, undoing
from fleet.worktree.bringing import Bringer
from fleet.worktree.places import path_for, root_of
from fleet.worktree.removing import Remover
from fleet.worktree.survey import holder_of_tree, judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.git.repository import Entry, Repository
    from fleet.model.orders import Order, WorktreeWish
    from fleet.worktree.recipe import Recipe

TRIES = 3  #: a branch that comes, goes or moves while its tree is planned is planned for anew
CHECKED_OUT = "HEAD is now at "  #: what git says before it runs the hook


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A tree for an agent that is about to be started in it."""

    order: Order  #: with the tree's folder as its cwd, and the tree in its record's fields
    tree: Tree
    notes: list[str]  #: said to the operator


class Maker:
    """Makes trees."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._trees = TreeStore(fleet.layout)
        self._remover = Remover(fleet)

    def make(self, order: Order, wish: WorktreeWish, undo: contextlib.ExitStack) -> Made:
        """
        The order's worktree; what takes it back is put on *undo* before anything is made.

        Raises:
            UsageError: --cwd is in no repository, or the branch name or the set-up file cannot be.
            Refused: the branch or its place is taken, a hook or the set-up command failed.
            Unconfirmed: the set-up file waits for the operator's yes.
            TimedOut: git or the set-up command took too long.
        """
        fleet = self._fleet
        mark = new_id() + new_id()
        repository = discover(order.cwd, fleet.environ)
        git = Git(repository.place, fleet.environ, mark=mark)
        branch = branches.check_name(git, wish.branch or f"fleet/{order.task_id}")
        root = root_of(fleet.layout, fleet.settings)
        path = path_for(root, repository, branch)
        with contextlib.ExitStack() as asking:
            fetching = None
            if branch not in branches.local(git):
                seconds = fleet.settings.number("worktree.fetch_seconds")
                fetching = asking.enter_context(Fetching(git, branch, fleet.clock, seconds))
            plan: _Plan | None = None
            for _ in range(TRIES + 1):
                with self._remover.lock(repository.common):
                    self._settle_cut_short(repository, path, branch)
                    entry = self._entry(git, repository.common, path, branch)
                    if entry is not None:
                        return self._reuse(order, repository, entry, branch, undo)
                    if plan is not None and branches.local(git).get(branch) == plan.found:
                        tree = Tree(
                            path=path, repository=repository.common, branch=branch, created_branch=plan.found is None,
                            base=plan.base.name, base_commit=plan.base.commit, stage=Stage.MAKING,
                            agent_id=order.agent_id, owner=own_identity(), mark=mark,
                            created_at=rfc3339(fleet.clock.wall()),
                        )  # fmt: skip
                        undo.callback(self._take_back, tree)
                        self._trees.put(tree)
                        break
                plan = self._plan(repository, wish, git, branch, fetching)
            else:
                raise Refused(f"branch {branch!r} keeps changing while its worktree is prepared", hint="try again")
        return self._build(order, repository, git, tree, plan)

    def settle(self, tree: Tree) -> None:
        """The agent's record stands."""
        self._trees.put(dataclasses.replace(tree, stage=Stage.STANDING, owner={}))

    def _take_back(self, tree: Tree) -> None:
        try:
            undoing.undo(self._fleet, tree)
        except FleetError as e:
            # The tree's file stays: the next dispatch and `worktree prune` go on from it. The first failure is told.
            self._fleet.journal.tell(tree.agent_id, "NotMended", error=str(e))

    def _settle_cut_short(self, repository: Repository, path: str, branch: str) -> None:
        """
        Undo or finish what was cut short before.

        Raises:
            Refused: the place or the branch is in another's hands. Git does not know yet of a tree that is about to
                be made: only its file tells.
        """
        for tree in self._trees.all()[0]:
            if tree.repository != repository.common or tree.stage == Stage.STANDING:
                continue
            outcome = self._remover.settle(tree)
            now = self._trees.get(tree.path)
            unsettled = now is not None and now.stage != Stage.STANDING
            if unsettled and (tree.path == path or tree.branch == branch):
                raise Refused(
                    f"branch {tree.branch!r} is taken: {tree.path}: {outcome.judgement.reason}",
                    hint="`fleet worktree list` tells more, or name another branch: --worktree NAME",
                )

    def _entry(self, git: Git, common: str, path: str, branch: str) -> Entry | None:
        """
        The registered tree at *path*, with stale registrations that stand in the way pruned.

        Raises:
            Refused: the branch is checked out elsewhere, or something unknown is at the path.
        """
        seconds = self._fleet.settings.number("worktree.make_seconds")
        for entry in (undoing.holder_of(git, branch), undoing.entry_of(git, path)):
            if entry is not None and entry.prunable and entry.locked is None:
                if (kept := registration.held(git, common, entry.path)) is not None:
                    raise Refused(
                        f"{entry.path} is gone, and its registration holds {kept}",
                        hint=f"`git -C {common} worktree repair NEW_PATH` when it was moved, or `git worktree prune`",
                    )
                undoing.take_away(git, entry.path, seconds)
        holder = undoing.holder_of(git, branch)
        if holder is not None and holder.path != path:
            locked = ", which is locked" if holder.locked is not None else ""
            raise Refused(
                f"branch {branch!r} is checked out at {holder.path}{locked}",
                hint="dispatch with --cwd there and without --worktree, or name another branch: --worktree NAME",
            )
        entry = undoing.entry_of(git, path)
        if entry is None and os.path.lexists(path):
            raise Refused(
                f"{path} exists and is no worktree of this repository; it was left alone",
                hint="look at it and move it away, or name another branch: --worktree NAME",
            )
        return entry

    def _reuse(
        self, order: Order, repository: Repository, entry: Entry, branch: str, undo: contextlib.ExitStack
    ) -> Made:
        """Give out the tree that is there, when it is free, unlocked, clean and on the branch."""
        git = Git(entry.path, self._fleet.environ)
        known = self._trees.get(entry.path)
        tree = known or Tree(
            path=entry.path, repository=repository.common, branch=branch, created_branch=False, base=branch,
            base_commit=entry.head or "", stage=Stage.STANDING, agent_id=order.agent_id, owner={}, mark=new_id(),
            created_at=rfc3339(self._fleet.clock.wall()),
        )  # fmt: skip
        undoing.check_place(self._fleet, tree)
        hint = f"look at it: git -C {entry.path} status"
        holder = holder_of_tree(self._fleet, tree)
        judged = None if known is None else judge(self._fleet, known)
        if holder is not None:
            raise Refused(f"{entry.path} is the worktree of agent {holder}", hint=f"`fleet stop {holder}` first")
        if entry.locked is not None:
            raise Refused(
                f"{entry.path} is locked: {entry.locked or 'no reason given'}",
                hint=f"`{undoing.unlocking(entry.path)}`, when whoever locked it is done",
            )
        if entry.branch != branch:
            found = f"branch {entry.branch!r}" if entry.branch else "a detached HEAD"
            raise Refused(f"{entry.path} is on {found} and not on {branch!r}", hint=hint)
        if judged is not None and (judged.tree is None or judged.tree.stage != Stage.STANDING or judged.lost):
            raise Refused(f"{entry.path}: {judged.reason}", hint="`fleet worktree list` tells more")
        if known is not None and self._fleet.owner_lives({"owner": known.owner}):
            raise Refused(f"{entry.path} is being given out by process {known.owner['pid']}")
        dirty = changes(git, tree.targets()) or unfinished(git)
        if dirty is not None:
            raise Refused(f"{entry.path} is there from before and not clean: {dirty}", hint=hint)
        cwd = _sub_folder(tree.path, repository.sub, branch)
        undo.callback(self._trees.put, known) if known is not None else undo.callback(self._trees.forget, tree.path)
        tree = self._trees.put(dataclasses.replace(tree, agent_id=order.agent_id, owner=own_identity()))
        return Made(_moved(order, cwd, tree), tree, [f"worktree {tree.path} is there from before, on {branch}"])

    def _plan(
        self, repository: Repository, wish: WorktreeWish, git: Git, branch: str, fetching: Fetching | None
    ) -> _Plan:
        """What is to be made, as soon as the remote has answered. Nothing has been changed yet."""
        fleet = self._fleet
        asked = recipe.on_disk(repository)
        if asked is not None:
            recipe.check_confirmed(fleet.layout, repository, asked, wish, fleet.clock.wall())
        known = branches.local(git)
        if branch in known:
            base = Base(known[branch], branch, notes=[f"branch {branch} was there already, at {known[branch][:10]}"])
        else:
            branches.check_collisions(branch, known)
            base = fetching.base() if fetching is not None else here(git)
        if asked is None:
            asked = recipe.in_commit(git, base.commit)
            if asked is not None:
                recipe.check_confirmed(fleet.layout, repository, asked, wish, fleet.clock.wall())
        _check_sub(git, repository, base, branch)
        return _Plan(base, known.get(branch), asked)

    def _build(self, order: Order, repository: Repository, git: Git, tree: Tree, plan: _Plan) -> Made:
        fleet, notes = self._fleet, [*plan.base.notes]
        try:
            ensure_dir(os.path.dirname(tree.path))
        except OSError as e:
            raise Refused(f"{os.path.dirname(tree.path)} cannot be made: {e.strerror}") from e
        self._add(git, tree, plan)
        if undoing.holder_of(git, tree.branch) is None:
            raise Refused(f"{tree.path} is not on {tree.branch} after its making: a hook moved it")
        seconds = fleet.settings.number("worktree.make_seconds")
        if fleet.settings["worktree.submodules"]:
            bring_submodules(git.at(tree.path), repository.common, seconds)
        if plan.recipe is not None:
            tree = self._set_up(order, repository, git, tree, plan.recipe, notes)
        cwd = _sub_folder(tree.path, repository.sub, tree.branch)
        if repository.superproject:
            notes.append(f"{repository.top} is a submodule of {repository.superproject}: the tree is the submodule's")
        started = f"branch {tree.branch}" + (
            f", from {tree.base} ({tree.base_commit[:10]})" if tree.created_branch else ""
        )
        return Made(_moved(order, cwd, tree), tree, [f"worktree {tree.path} on {started}", *notes])

    def _add(self, git: Git, tree: Tree, plan: _Plan) -> None:
        settings = self._fleet.settings
        hooks = [] if settings["worktree.run_hooks"] else ["-c", "core.hooksPath=/dev/null"]
        if plan.found is not None:
            what = [tree.path, tree.branch]
        elif plan.base.upstream:
            what = ["--track", "-b", tree.branch, tree.path, plan.base.upstream]
        else:
            what = ["--no-track", "-b", tree.branch, tree.path, tree.base_commit]
        done = git.ask(*hooks, "worktree", "add", *what, seconds=settings.number("worktree.make_seconds"))
        if done.status == 0:
            return
        entry = undoing.entry_of(git, tree.path)
        stands = entry is not None and entry.locked is None and entry.branch == tree.branch
        if stands and not hooks and CHECKED_OUT in done.out + done.err and _has_hook(git.at(tree.path)):
            raise Refused(
                f"the repository's post-checkout hook ended with status {done.status}: {done.reason()}",
                hint="mend the hook, or set worktree.run_hooks to false in config.yaml; nothing of it is left",
            )
        raise GitFailed("worktree add", done)

    def _set_up(
        self, order: Order, repository: Repository, git: Git, tree: Tree, asked: Recipe, notes: list[str]
    ) -> Tree:
        """Files, then the command, within one deadline."""
        fleet = self._fleet
        end = fleet.clock.monotonic() + fleet.settings.number("worktree.setup_seconds")
        if repository.top is not None:
            bringer = Bringer(git, repository.top, tree.path, lambda: fleet.clock.monotonic() < end)
            try:
                bringer.bring(asked)
            except OSError as e:
                raise Refused(f"{e.filename} cannot be brought along: {e.strerror}") from e
            notes += bringer.notes
            tree = self._trees.put(dataclasses.replace(tree, links=tuple(bringer.links), source=repository.top))
        elif asked.copy or asked.link:
            notes.append("nothing was copied or linked: --cwd is in no checkout that could have the files")
        if asked.setup:
            left = end - fleet.clock.monotonic()
            if left <= 0:
                raise TimedOut("bringing files along took all of worktree.setup_seconds")
            env = {**order.env, "FLEET_WORKTREE": tree.path, "FLEET_BRANCH": tree.branch,
                   "FLEET_REPOSITORY": repository.place, MARK: tree.mark}  # fmt: skip
            settingup.run(asked.setup, tree.path, env, fleet.layout.setup_log(order.agent_id), left)
        return tree


@dataclasses.dataclass(frozen=True, slots=True)
class _Plan:
    base: Base
    found: str | None  #: where the branch is already
    recipe: Recipe | None


def _has_hook(git: Git) -> bool:
    path = git.run("rev-parse", "--path-format=absolute", "--git-path", "hooks/post-checkout").rstrip("\n")
    return os.access(path, os.X_OK)


def _moved(order: Order, cwd: str, tree: Tree) -> Order:
    return order._replace(cwd=cwd, extra={**order.extra, "worktree": tree.as_field()})


def _check_sub(git: Git, repository: Repository, base: Base, branch: str) -> None:
    if repository.sub and git.ask("cat-file", "-t", f"{base.commit}:{repository.sub}").out.strip() != "tree":
        raise Refused(
            f"there is no folder {repository.sub!r} in {base.name} ({base.commit[:10]}), which {branch} starts from",
            hint="give a folder with --cwd that the branch has",
        )


def _sub_folder(path: str, sub: str, branch: str) -> str:
    folder = os.path.join(path, sub) if sub else path
    if not os.path.isdir(folder) or os.path.realpath(folder) != folder:
        raise Refused(f"there is no folder {sub!r} in the worktree of {branch}", hint="give another one with --cwd")
    return folder
