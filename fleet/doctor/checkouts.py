"""What git says, against what agents say: where a repository stands, who holds which tree, what a branch contributes.

Read-only, and by git alone: no index is refreshed, no remote is asked.
"""

from __future__ import annotations

import os

from fleet.doctor.findings import Finding, Grade, problem
from fleet.errors import FleetError
from fleet.formats.states import Turn
from fleet.formats.times import parse
from fleet.git import branches
from fleet.git.repository import discover, worktrees
from fleet.git.runner import Git
from fleet.store.trees import TreeStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fleet.app import Fleet
    from fleet.git.repository import Entry
    from fleet.model.agent import Agent
    from fleet.model.tree import Tree
    from fleet.observe.facts import Looker

MOST_PATHS = 10
OVER = frozenset({Turn.IDLE, Turn.EXITED, Turn.GONE})


def checkouts(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    """Every repository in which an agent works, and that of the present folder."""
    agents = fleet.agents.living().agents
    trees, bad = TreeStore(fleet.layout).all()
    for error in bad:
        yield Finding("git", Grade.UNKNOWN, str(error))
    places: dict[str, str] = {}
    for folder in [os.getcwd(), *(agent.cwd for agent in agents), *(tree.path for tree in trees)]:
        if not os.path.isdir(folder):
            continue
        try:
            repository = discover(folder, fleet.environ)
        except FleetError:
            continue  # it is in none, and need not be
        places.setdefault(repository.common, repository.place)
    for tree in trees:
        if os.path.isdir(tree.repository):
            places.setdefault(tree.repository, tree.repository)
    if not places:
        yield Finding("git", Grade.NOTE, "no agent works in a git repository")
    for common, place in sorted(places.items()):
        git = Git(place, fleet.environ)
        ours = [tree for tree in trees if tree.repository == common]
        try:
            listed = worktrees(git)
            yield from _main(git, listed)
            yield from _holders(listed, agents, ours)
        except FleetError as e:
            yield Finding("git", Grade.UNKNOWN, f"{common}: {e}")
            continue
        for tree in ours:
            try:
                yield _contribution(fleet, look, git, tree, listed, ours)
            except FleetError as e:
                yield Finding("git", Grade.UNKNOWN, f"branch {tree.branch}: {e}")


def _main(git: Git, listed: Sequence[Entry]) -> Iterator[Finding]:
    """The main checkout: its branch, and what is not committed."""
    main = listed[0] if listed else None
    if main is None or main.bare:
        return
    if main.branch is None:
        yield problem(
            "git",
            f"the main checkout {main.path} is on no branch, at {(main.head or '?')[:10]}",
            "what is committed or merged there belongs to no branch",
            f"git -C {main.path} switch BRANCH",
        )
    elif main.branch.startswith(("refs/", "heads/")):
        yield problem(
            "git",
            f"the main checkout {main.path} is on a branch called {main.branch}",
            "it looks like a ref's path: commits go to another ref than the one that is meant",
            f"git -C {main.path} switch {main.branch.rpartition('heads/')[2] or 'BRANCH'}",
        )
    else:
        yield Finding("git", Grade.OK, f"the main checkout {main.path} is on {main.branch}")
    changed = [
        line[3:] for line in git.at(main.path).run("status", "--porcelain", "-z").split("\0") if line[2:3] == " "
    ]
    if changed:
        more = f" and {len(changed) - MOST_PATHS} more" if len(changed) > MOST_PATHS else ""
        words = ", ".join(ascii(path)[1:-1] for path in changed[:MOST_PATHS])
        yield Finding("git", Grade.NOTE, f"not committed in {main.path}: {words}{more}")


def _holders(listed: Sequence[Entry], agents: Sequence[Agent], ours: Sequence[Tree]) -> Iterator[Finding]:
    """Every linked worktree with its branch, and who holds it."""
    known = {tree.path for tree in ours}
    for entry in listed[1:]:
        holders = [a for a in agents if f"{os.path.realpath(a.cwd)}/".startswith(f"{entry.path}/")]
        who = ", ".join(f"{a.id} ({a.task_id})" for a in holders) or "nobody"
        whose = "" if entry.path in known else "; fleet did not make it"
        state = "; its folder is gone" if entry.prunable else "; locked" if entry.locked is not None else ""
        branch = entry.branch or f"no branch, at {(entry.head or '?')[:10]}"
        if len(holders) > 1:
            yield problem(
                "git",
                f"{entry.path} on {branch} is held by {who}",
                "they overwrite each other's files, and nobody can say whose a change is",
                "fleet stop all but one, or dispatch with --worktree",
            )
        else:
            yield Finding("git", Grade.OK, f"{entry.path} on {branch}, held by {who}{whose}{state}")


def _contribution(
    fleet: Fleet, look: Looker, git: Git, tree: Tree, listed: Sequence[Entry], ours: Sequence[Tree]
) -> Finding:
    """What one branch holds that its own fork point does not, and whether the work went elsewhere."""
    agent = fleet.agents.get(tree.agent_id)
    name = f"{tree.branch} ({agent.task_id if agent else tree.agent_id})"
    tip = branches.commit_of(git, f"refs/heads/{tree.branch}")
    if tip is None:
        return problem(
            "git",
            f"branch {name} is gone",
            "the work of its agent has no name any more",
            f"git -C {git.folder} reflog, then git branch {tree.branch} COMMIT",
        )
    entry = next((one for one in listed if one.path == tree.path), None)
    if entry is not None and entry.branch != tree.branch and entry.head not in (None, tip):
        where = entry.branch or f"no branch, at {(entry.head or '?')[:10]}"
        return problem(
            "git",
            f"the worktree of {name} is on {where}",
            "what its agent commits lands on another ref than its own branch",
            f"git -C {tree.path} switch {tree.branch}, after a look at what is on {where}",
        )
    fork = git.run("merge-base", tree.base_commit, tip).strip()
    files = [path for path in git.run("diff", "--name-only", "-z", fork, tip).split("\0") if path]
    commits = git.run("rev-list", "--count", f"{fork}..{tip}").strip()
    if files:
        subject = git.run("log", "-1", "--format=%s", tip).strip()
        landed = branches.commit_of(git, tree.base)
        where = f"; it is in {tree.base}" if landed and branches.is_ancestor(git, tip, landed) else ""
        words = f"{name}: {commits} commits, {len(files)} files since {fork[:10]}, last {subject!a}{where}"
        return Finding("git", Grade.OK, words)
    if agent is not None and look.see(agent).state.turn not in OVER:
        return Finding("git", Grade.NOTE, f"{name}: nothing committed yet, its agent is at work")
    others = _elsewhere(git, tree, ours)
    hint = f"; new since then: {', '.join(others)}" if others else ""
    return problem(
        "git",
        f"{name} contributes nothing since {fork[:10]}{hint}",
        "its turn is over: the work is not committed, was not done, or landed on another ref",
        f"git -C {tree.path} status; git log --all --since={tree.created_at}",
    )


def _elsewhere(git: Git, tree: Tree, ours: Sequence[Tree]) -> list[str]:
    """Branches that are nobody else's and have commits which are younger than the tree."""
    taken = {one.branch for one in ours}
    since = parse(tree.created_at) or 0.0
    found = []
    form = "--format=%(committerdate:unix) %(refname:short)"
    for line in git.run("for-each-ref", form, "refs/heads/").splitlines():
        at, _, branch = line.partition(" ")
        if branch in taken or not at.isdigit() or int(at) < since:
            continue
        if not branches.is_ancestor(git, f"refs/heads/{branch}", tree.base_commit):
            found.append(branch)
    return found
