"""What git says of a tree: as much as came in time, cut at a line's end, with a word about the rest."""

import os
import shutil
import subprocess

import pytest

from fleet.clock import SystemClock, wait_until
from fleet.drain.git_facts import CHARACTERS, GitFacts

OWN = {"HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e@x",
       "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e@x"}  # fmt: skip


@pytest.fixture
def tree(tmp_path):
    """A repository with one commit."""
    folder = tmp_path / "tree"
    folder.mkdir()
    for args in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *args], cwd=folder, check=True, env={**os.environ, **OWN})
    return folder


@pytest.fixture
def slow(tmp_path):
    """`slow(QUESTION)`: an environment whose git does not answer that question."""

    def environment(question):
        folder = tmp_path / "bin"
        folder.mkdir()
        script = folder / "git"
        hang = f'case " $* " in *" {question} "*) exec sleep 600 ;; esac'
        script.write_text(f'#!/bin/sh\n{hang}\nexec {shutil.which("git")} "$@"\n')
        script.chmod(0o755)
        return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

    return environment


def facts(cwd, environ=os.environ, seconds=20.0):
    """The facts once they are there."""
    asked, found = GitFacts(environ, seconds), []

    def answered():
        found.append(asked.of("document", str(cwd)))
        return found[-1] is not None

    wait_until(answered, 30, clock=SystemClock(), what="git's answers")
    return found[-1]


def test_a_tree_is_told_in_three_parts(tree):
    """Branch and status, diff stat, last commits, as an indented block."""
    (tree / "new").touch()

    lines = facts(tree).split("\n")

    assert ["    ## main", "    ?? new", ""] == lines[:3]
    assert lines[3].endswith(" first")


def test_what_is_no_tree_has_no_facts(tmp_path):
    """Nothing is said, neither of a folder without a repository nor of one that is not there."""
    assert "" == facts(tmp_path)
    assert "" == facts(tmp_path / "gone")


@pytest.mark.parametrize(
    ("question", "name", "kept"),
    [("diff", "git diff --stat", "## main"), ("status", "git status", " first"), ("log", "git log", "## main")],
)
def test_a_slow_answer_takes_no_other_along(tree, slow, question, name, kept):
    """What came in time stands there, and what did not is named."""
    found = facts(tree, slow(question), seconds=1.0)

    assert kept in found
    assert f"    ({name}: not within 1 s)" in found.split("\n")


def test_nobody_waits_for_git(tree, slow):
    """Asking returns at once, with nothing, however long git takes."""
    asked = GitFacts(slow("status"), 1.0)

    assert None is asked.of("document", str(tree))


def test_a_long_answer_ends_with_a_line_and_says_how_many_more(tree):
    """No file name is cut in two; status says how many lines are left out, a diff stat keeps its sum as well."""
    names = [f"file-{n:04d}-{'x' * 20}" for n in range(400)]
    for name in names:
        (tree / name).write_text("one\n")
    subprocess.run(["git", "add", "."], cwd=tree, check=True)

    status, stat, _ = facts(tree).split("\n\n")

    shown = [line.split()[-1] for line in status.split("\n")[1:-1]]
    assert names[: len(shown)] == shown
    assert f"    ({len(names) - len(shown)} more lines)" == status.split("\n")[-1]
    *files, more, total = stat.split("\n")
    assert names[: len(files)] == [line.split()[0] for line in files]
    assert f"    ({len(names) - len(files)} more lines)" == more
    assert "    400 files changed, 400 insertions(+)" == total.replace("     ", "    ")
    assert max(len(status), len(stat)) < CHARACTERS + 4 * 200
