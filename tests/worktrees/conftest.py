"""A fleet with the fake agent and real repositories around it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.agents.world import World
from tests.cli.conftest import picture


class Ground(World):
    """The world of one test: the operator's hands, and git as a person uses it."""

    def __init__(self):
        super().__init__("fake", None)
        self.root = self.root.resolve()
        self.env |= {"GIT_CONFIG_NOSYSTEM": "1"}
        (self.home / ".gitconfig").write_text(
            '[user]\n\tname = n\n\temail = e@x\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n'
            "[advice]\n\tdetachedHead = false\n"
        )
        self.repo = self.project.resolve()

    def git(self, *args, at=None, code=0):
        """git as the person at the keyboard; what it printed."""
        done = subprocess.run(
            ["git", "-C", str(at or self.repo), *args], env=self.env, capture_output=True, text=True, timeout=60
        )
        assert code == done.returncode, (args, done.stdout, done.stderr)
        return done.stdout.strip()

    def commit(self, name="file", text="x\n", at=None, message="m"):
        """Write and commit one file; the commit."""
        path = Path(at or self.repo) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "--all", at=at)
        self.git("commit", "-qm", message, at=at)
        return self.git("rev-parse", "HEAD", at=at)

    def begin(self, *, remote=False):
        """The project becomes a repository with one commit, pushed to `up.git` when a remote is asked for."""
        self.git("init", "-q")
        self.commit(".gitignore", "ignored/\n*.local\n.env\n")
        if remote:
            self.up = self.root / "up.git"
            self.git("clone", "-q", "--bare", str(self.repo), str(self.up))
            self.git("remote", "add", "origin", str(self.up))
            self.git("fetch", "-q", "origin")
        return self

    def push_from_elsewhere(self, name="news", branch="main"):
        """Somebody else pushes a commit; the commit."""
        other = self.root / "other"
        if not other.exists():
            self.git("clone", "-q", str(self.up), str(other))
        new = self.commit(name, at=other)
        self.git("push", "-q", "origin", f"HEAD:{branch}", at=other)
        return new

    def order(self, task="t", *args, cwd=None, code=0):
        """`fleet dispatch TASK ... --worktree`; the agent when it worked, else what was said."""
        if not any(a == "--worktree" or a.startswith("--worktree=") for a in args):
            args = (*args, "--worktree")
        done = self.run(
            "dispatch",
            task,
            "--engine",
            "fake",
            "--prompt",
            "x\nSTUB: say=ok",
            "--cwd",
            str(cwd or self.repo),
            "--json",
            *args,
        )
        assert code == done.returncode, (done.returncode, done.stdout.decode(), done.stderr.decode())
        self.said = done.stderr.decode()
        return json.loads(done.stdout) if code == 0 else self.said

    def stop(self, task="t", *, code=0):
        """`fleet stop TASK --remove-worktree`; what was said."""
        done = self.run("stop", task, "--remove-worktree", "--grace", "0")
        assert code == done.returncode, (done.stdout.decode(), done.stderr.decode())
        self.said = done.stderr.decode()
        return self.said

    def tree(self, agent):
        """The agent's worktree: path, branch and the rest."""
        return self.json("show", agent["id"])["worktree"]

    def row(self, branch, *args):
        """The row of `fleet worktree list|prune --json` for a branch."""
        (found,) = [r for r in self.json("worktree", *(args or ("list",))) if r["branch"] == branch]
        return found

    def trees(self):
        """The paths of all registered linked worktrees."""
        lines = self.git("worktree", "list", "--porcelain").splitlines()
        return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")][1:]

    def branches(self, at=None):
        """All local branches."""
        return self.git("for-each-ref", "--format=%(refname:short)", "refs/heads/", at=at).split()

    def before(self):
        """All that a failed dispatch must leave as it was: the repository's registrations and refs, and fleet's files."""
        files = {
            k: v for k, v in picture(self.fleet_home).items() if not k.startswith(("run/yaml-cache", "run/hook-config"))
        }
        refs = self.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/")
        folders = sorted(str(p) for p in self.fleet_home.glob("worktrees/*"))
        return files, refs, self.trees(), folders

    def sessions(self):
        """The sessions on the test's tmux server."""
        return self.tmux("list-sessions", "-F", "#{session_name}").split()

    def recipe(self, text, *, at=None):
        """Write `.fleet/worktree.yaml` in the checkout."""
        path = Path(at or self.repo) / ".fleet" / "worktree.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def hook(self, text, at=None):
        """Give the repository a post-checkout hook."""
        folder = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir", at=at)) / "hooks"
        folder.mkdir(exist_ok=True)
        path = folder / "post-checkout"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path


@pytest.fixture
def ground():
    """A place without any repository yet."""
    one = Ground()
    yield one
    one.close()


@pytest.fixture
def local(ground):
    """A repository with one commit and no remote."""
    return ground.begin()


@pytest.fixture
def shared(ground):
    """A repository with a remote that has the same commit."""
    return ground.begin(remote=True)


def exists(path):
    """Whether anything is at *path*, a dangling symlink too."""
    return os.path.lexists(path)
