"""kill -9 at any point of making and removing: the next prune or the next dispatch restores order."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worktrees.conftest import Ground, exists

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]
ROOT = Path(__file__).parents[2]
MOST = 60
DISPATCH = ("dispatch", "t", "--engine", "fake", "--prompt", "x\nSTUB: say=ok", "--worktree", "--trust-setup")


class Bench(Ground):
    """A ground whose commands can be killed."""

    def ready(self):
        self.begin()
        self.recipe('copy: [".env"]\nlink: [ignored]\nsetup: "echo made > made.local"')
        (self.repo / ".env").write_text("x")
        (self.repo / "ignored").mkdir()
        self.env |= {"FLEET_CRASH_LOG": str(self.root / "effects"), "PYTHONPATH": str(ROOT)}
        return self

    def crash(self, at, when, *args):
        """Whether the command was killed at that effect; the effects that it had."""
        Path(self.env["FLEET_CRASH_LOG"]).write_text("")
        done = subprocess.run([sys.executable, "-m", "tests.worktrees.crashing", str(at), when, *args],
                              env=self.env, cwd=self.repo, capture_output=True, text=True, timeout=60)  # fmt: skip
        assert done.returncode in (-9, 0), (at, done.stdout, done.stderr)
        return done.returncode == -9, Path(self.env["FLEET_CRASH_LOG"]).read_text().splitlines()

    def check_nothing(self, *, at):
        """No tree, branch, registration or file of one is there."""
        left = [str(p) for p in (self.fleet_home / "worktrees").rglob("*")], os.listdir(self.fleet_home / "trees")
        assert ([], []) == left, at
        assert ([], ["main"]) == (self.trees(), self.branches()), at

    def check_whole(self, *, at):
        """The task's only agent has its tree, whole."""
        agent = self.agent("t")
        row = self.row("fleet/t")
        assert (agent["id"], None, False) == (row["holder"], row["dirty"], row["lost"]), (at, row)
        assert exists(agent["cwd"] + "/made.local"), at
        assert exists(agent["cwd"] + "/.gitignore"), at


@pytest.fixture
def bench():
    one = Bench().ready()
    yield one
    one.close()


def test_a_killed_dispatch(bench, stride):
    """After any effect, a prune and a drain pass leave a whole agent or nothing at all."""
    outcomes = _try(
        bench, stride, "after", lambda: (bench.fleet("worktree", "prune", "--apply"), bench.fleet("drain", "--once"))
    )
    assert {0, 1} == outcomes


def test_a_killed_dispatch_is_repeated(bench, stride):
    """After any effect, the same dispatch works, or is refused because the first one stands."""
    assert {1} == _try(bench, stride, "after", lambda: (bench.run(*DISPATCH), bench.fleet("drain", "--once")))


@pytest.mark.full
def test_a_dispatch_killed_before_any_effect(bench, stride):
    """As after it, by either way."""
    _try(bench, stride, "before", lambda: (bench.fleet("worktree", "prune", "--apply"), bench.fleet("drain", "--once")))
    assert {1} == _try(bench, stride, "before", lambda: (bench.run(*DISPATCH), bench.fleet("drain", "--once")))


def _try(bench, stride, when, mend):
    outcomes = set()
    for at in range(1, MOST, stride):
        killed, effects = bench.crash(at, when, *DISPATCH)
        mend()
        living = bench.agents("t")
        outcomes.add(len(living))
        if living:
            bench.state("t", "idle")
            bench.check_whole(at=effects[-1])
            bench.fleet("stop", "t", "--remove-worktree", "--grace", "0")
        bench.fleet("drain", "--once")
        bench.check_nothing(at=effects[-1])
        assert [] == bench.sessions(), effects[-1]
        if not killed:
            assert at > 8, effects
            return outcomes
    raise AssertionError("more effects than expected")


@pytest.mark.parametrize("when", ["after", pytest.param("before", marks=pytest.mark.full)])
def test_a_killed_removal(bench, when, stride):
    """After any effect, a prune leaves nothing of the tree: what was judged safe to go is gone."""
    for at in range(1, MOST, stride):
        bench.fleet(*DISPATCH)
        killed, effects = bench.crash(at, when, "stop", "t", "--remove-worktree", "--grace", "0")
        bench.fleet("drain", "--once")
        bench.fleet("worktree", "prune", "--apply")
        bench.check_nothing(at=effects[-1])
        if not killed:
            assert 4 < at, effects
            return
    raise AssertionError("more effects than expected")


def start_and_wait(bench, mark, *args):
    """Start a command and wait until the file *mark* is there."""
    process = subprocess.Popen([sys.executable, "-m", "fleet", *args], env=bench.env, cwd=bench.repo,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    bench.until(lambda: exists(mark), f"{mark} is there")
    return process


@pytest.mark.parametrize("mend", ["prune", "dispatch"])
def test_git_and_a_hook_outlive_a_killed_fleet(bench, mend):
    """What they would still do to the tree is stopped first."""
    mark = bench.root / "hook-runs"
    hook = bench.hook(f"touch {mark}\nsleep 600\ntouch {bench.root}/survived\n")
    process = start_and_wait(bench, mark, *DISPATCH)
    assert "being made by process" in bench.row("fleet/t", "prune", "--apply")["why"]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    hook.unlink()

    if mend == "prune":
        assert "undo" == bench.row("fleet/t", "prune", "--apply")["next"]
    else:
        bench.fleet(*DISPATCH)
        bench.check_whole(at=mend)
        bench.fleet("stop", "t", "--remove-worktree", "--grace", "0")

    bench.check_nothing(at=mend)
    assert not exists(bench.root / "survived")


def test_a_killed_checkout(bench):
    """git killed in the middle of writing files, with its own lock on the registration."""
    for n in range(300):
        (bench.repo / f"f{n}").write_text("x")
    bench.commit("more")
    (bench.repo / ".gitattributes").write_text("f200 filter=slow\n")
    mark = bench.root / "smudging"
    bench.commit("more", "y")
    bench.git("config", "filter.slow.smudge", f"touch {mark}; sleep 600")
    process = start_and_wait(bench, mark, *DISPATCH)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    bench.git("config", "filter.slow.smudge", "cat")
    assert "initializing" == bench.row("fleet/t")["locked"]

    bench.fleet(*DISPATCH)

    bench.check_whole(at="checkout")


def test_work_in_a_half_made_tree_is_kept(bench):
    """A person who found the tree of a killed dispatch and committed there keeps it."""
    bench.crash(2, "after", *DISPATCH)
    (path,) = bench.trees()
    bench.commit("found", at=path)

    assert "adopt" == bench.row("fleet/t", "prune")["next"]
    assert "1 commit neither pushed nor merged" == bench.row("fleet/t", "prune", "--apply")["why"]
    assert "standing" == bench.row("fleet/t")["stage"]
    assert exists(path + "/found")


def test_something_new_in_a_tree_whose_removal_was_killed_is_kept(bench):
    """A removal that was killed before the tree was moved is judged anew, and the tree can be used again."""
    bench.fleet(*DISPATCH)
    path = bench.agent("t")["cwd"]
    bench.fleet("stop", "t")
    killed, _ = bench.crash(1, "after", "worktree", "prune", "--apply")
    assert (killed, "removing") == (True, bench.row("fleet/t")["stage"])
    Path(path, "new").write_text("x")

    assert "1 untracked file" in bench.row("fleet/t", "prune", "--apply")["why"]

    Path(path, "new").unlink()
    bench.fleet(*DISPATCH)
    bench.check_whole(at="again")


def test_a_removal_that_was_killed_after_the_move_is_finished(bench):
    """What was judged and moved away goes, also by a dispatch of the same task."""
    bench.fleet(*DISPATCH)
    bench.fleet("stop", "t")
    bench.crash(2, "before", "worktree", "prune", "--apply")
    assert [] == [p for p in Path(bench.fleet_home, "worktrees").glob("*/*") if not p.name.startswith(".gone-")]
    assert "finish" == bench.row("fleet/t")["next"]

    bench.fleet(*DISPATCH)

    bench.check_whole(at="again")
    assert [] == list(Path(bench.fleet_home, "worktrees").glob("*/.gone-*"))


def test_a_removal_that_was_killed_before_its_second_look_is_judged_anew(bench):
    """What came into the tree after the first look, wherever it lies by then, keeps it; it stands at its place again."""
    bench.fleet(*DISPATCH)
    path = Path(bench.agent("t")["cwd"])
    bench.fleet("stop", "t")
    bench.crash(2, "before", "worktree", "prune", "--apply")
    (path.parent / f".gone-{path.name}" / "new").write_text("x")

    assert "1 untracked file" in bench.row("fleet/t", "prune", "--apply")["why"]

    assert "x" == (path / "new").read_text()
    assert "standing" == bench.row("fleet/t")["stage"]


def test_a_removal_that_was_killed_after_its_second_look_touches_nothing_new(bench):
    """A folder that somebody made at the tree's place meanwhile is theirs."""
    bench.fleet(*DISPATCH)
    path = Path(bench.agent("t")["cwd"])
    bench.fleet("stop", "t")
    bench.crash(2, "after", "worktree", "prune", "--apply")
    assert "going" == bench.row("fleet/t")["stage"]
    path.mkdir()

    assert "something new is at its place" == bench.row("fleet/t", "prune", "--apply")["why"]
    assert path.is_dir()
    path.rmdir()
    bench.fleet("worktree", "prune", "--apply")

    bench.check_nothing(at="after the second look")
