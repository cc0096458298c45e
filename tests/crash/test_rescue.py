"""`fleet rescue` is killed between any two effects: nothing goes that was not saved, and a second one finishes."""

import os
import subprocess

import pytest

from fleet.store.trees import TreeStore
from fleet.worktree.undoing import trash_of
from tests.crash.invariants import leftovers
from tests.crash.matrix import try_all
from tests.crash.yard import SECONDS

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

SYNC = "fsync "
#: A patch half written; the tree moved away and not looked at again; looked at, and no more registered.
STEPS = ("popen git apply#1", "rename worktrees/work-~/.gone-TREE#1", "popen git worktree#1")


class Rescue:
    """Rescues of agents with a tree of their own, one after the other, in one repository."""

    def __init__(self, yard):
        self.yard = yard
        self.count = 0
        self.git("init", "-q", "-b", "main")
        self.commit(yard.work, "first")

    def git(self, *args, at=None):
        """git as a person uses it."""
        done = subprocess.run(
            ["git", "-C", str(at or self.yard.work), *args], env=self.yard.env, capture_output=True, text=True
        )
        assert done.returncode == 0, done
        return done.stdout

    def commit(self, at, name):
        with open(os.path.join(at, name), "w", encoding="utf-8") as f:
            f.write(name)
        self.git("add", "--all", at=at)
        self.git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", name, at=at)

    def attempt(self, at=None, when="after"):
        """A rescue that is killed at an effect, and another one."""
        yard = self.yard
        self.count += 1
        task = f"t{self.count}"
        yard.run(*yard.dispatch_args(task), "--worktree")
        agent = yard.agent(task)
        tree, branch = agent.cwd, f"fleet/{task}"
        self.commit(tree, "committed")
        work = {"half": b"half done\n", "bytes": bytes(range(256)) * 99, "folder/new": b"new\n"}
        os.mkdir(os.path.join(tree, "folder"))
        for name, data in work.items():
            with open(os.path.join(tree, name), "wb") as f:
                f.write(data)
        names = {agent.id: "OLD", os.path.basename(tree): "TREE"}
        plan = {**yard.plan(at=at, when=when), "names": names}
        yard.run("rescue", agent.id, plan=plan, codes=(0,) if at is None else (0, None))
        self.check_kept(agent, tree, branch, work)
        there = TreeStore(yard.layout).get(tree) is not None
        yard.run("rescue", agent.id, codes=(0,) if there else (2,), seconds=2 * SECONDS)
        self.check_kept(agent, tree, branch, work, saved=True)
        yard.quiet()
        yard.drain("--once")
        assert [] == leftovers(yard.layout, ()) + yard.at_work() + yard.gates() + yard.sessions()
        assert yard.fleet.agents.archived(agent.id) is not None
        assert [] == [name for name in os.listdir(yard.layout.rescues) if not name.endswith(".patch")]
        assert [] == os.listdir(yard.layout.trees) + [one for one in (tree, trash_of(tree)) if os.path.lexists(one)]
        assert 1 == self.git("worktree", "list", "--porcelain").count("worktree ")
        return plan

    def check_kept(self, agent, tree, branch, work, *, saved=False):
        """What was not committed is in its place, or where that is moved to, or in a patch that a clean checkout takes."""
        assert not saved or self.patched(agent, branch) == work
        for place in (tree, trash_of(tree)):
            if found(place, work) == work:
                return
        assert self.patched(agent, branch) == work

    def patched(self, agent, branch):
        """What the newest patch of an agent gives on its branch."""
        folder = self.yard.layout.rescues
        patches = sorted(name for name in os.listdir(folder) if name.startswith(agent.id) and name.endswith(".patch"))
        clean = str(self.yard.root / "clean")
        subprocess.run(["rm", "-rf", clean], check=True)
        self.git("clone", "-q", "--branch", branch, ".", clean)
        assert os.path.exists(os.path.join(clean, "committed"))
        self.git("apply", "--index", os.path.join(folder, patches[-1]), at=clean)
        names = self.git("diff", "--cached", "--name-only", at=clean).split()
        return found(clean, names)


def found(folder, names):
    """What is in those files."""
    held = {}
    for name in names:
        try:
            with open(os.path.join(folder, name), "rb") as f:
                held[name] = f.read()
        except FileNotFoundError:
            continue
    return held


def each(yards, cases):
    """All *cases*, effect and when."""
    missed = []

    def attempt(bench, case):
        plan = bench.attempt(*case)
        missed.extend([case] if bench.yard.killed(plan) is None else [])

    try_all(cases, lambda: Rescue(yards()), attempt, state=lambda bench: bench.yard.state())
    assert len(missed) <= len(cases) // 10, f"effects that never came again: {missed}"


def test_a_killed_rescue_is_finished_by_another(yards):
    """After a SIGKILL at a step of a rescue all work is in its tree or in a patch, and a second rescue leaves the patch,
    the branch, and nothing else."""
    each(yards, [(at, "after") for at in STEPS])


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("when", ["after", "before"])
def test_a_rescue_killed_at_any_effect(yards, when):
    """As above, for every effect."""
    bench = Rescue(yards())
    names = [name for name in bench.yard.effects(bench.attempt(), looks=True) if not name.startswith(SYNC)]
    bench.yard.close()
    assert 80 < len(names)
    each(yards, [(name, when) for name in names])
