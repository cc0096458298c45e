"""Saving what is not committed: all of it or nothing, and nothing of the user's is touched."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet.app import Fleet
from fleet.errors import FleetError, NotFound
from fleet.worktree import rescuing
from tests.cli.conftest import picture

GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "protocol.file.allow=always", "-c",
       "init.defaultBranch=main", "-c", "core.quotePath=false"]  # fmt: skip


def git(folder, *args, code=0):
    done = subprocess.run([*GIT, "-C", str(folder), *args], capture_output=True)
    assert code == done.returncode, (args, done.stdout, done.stderr)
    return os.fsdecode(done.stdout).rstrip("\n")


@pytest.fixture
def fleet():
    one = Fleet(os.environ)
    one.make_home()
    return one


@pytest.fixture
def repo(tmp_path):
    """A repository with one commit."""
    folder = tmp_path / "p"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "text").write_text("one\ntwo\n")
    (folder / "gone").write_text("x\n")
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / ".gitignore").write_text("ignored\n")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "first")
    return folder


def save(fleet, folder, earlier=None, time="20261130-130000"):
    return rescuing.save(fleet, SimpleNamespace(id="a1b2c3d4", cwd=str(folder)), time, earlier)


def contents(folder):
    """Every file of a checkout: mode, and what it holds or leads to."""
    found = {}
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *(f for f in folders if os.path.islink(os.path.join(path, f)))]:
            whole = os.path.join(path, name)
            if name == ".git":
                continue
            link = os.path.islink(whole)
            with open(whole, "rb") if not link else open(os.devnull, "rb") as f:
                held = os.readlink(whole) if link else f.read()
            found[os.path.relpath(whole, folder)] = (held, "link" if link else bool(os.stat(whole).st_mode & 0o100))
    return found


def applied(tmp_path, repo, saved, staged=False):
    """What `git apply --index` makes of a clean checkout of HEAD."""
    clean = tmp_path / ("staged" if staged else "clean")
    git(tmp_path, "clone", "-q", "--no-local", str(repo), str(clean))
    git(clean, "apply", "--index", saved.staged if staged else saved.patch)
    assert "" == git(clean, "diff", "--name-only")
    return contents(clean)


def test_everything_that_is_not_committed_comes_back(fleet, repo, tmp_path):
    """Changed, staged, deleted, new, binary and empty files, symlinks, mode bits and names with line breaks and bytes that
    are no UTF-8: applied to a clean checkout the patch gives the same tree; index, files and refs stay as they were."""
    (repo / "text").write_text("one\nzwei\n")
    (repo / "staged").write_text("s\n")
    git(repo, "add", "staged")
    (repo / "staged").write_text("s, and more\n")
    (repo / "gone").unlink()
    (repo / "tool").chmod(0o755)
    (repo / "binary").write_bytes(bytes(range(256)) * 50)
    (repo / "empty").touch()
    (repo / "no newline").write_text("end")
    (repo / "crlf").write_bytes(b"a\r\nb\r\n")
    (repo / "ignored").write_text("secret\n")
    (repo / "link").symlink_to("nowhere")
    (repo / "sub").mkdir()
    (repo / "sub" / "line\nbreak \t\"'\\").write_text("x\n")
    with open(os.fsencode(repo) + b"/latin-\xe9", "wb") as f:
        f.write(b"\xe9\n")
    index, before = (repo / ".git" / "index").read_bytes(), picture(repo / ".git")

    saved = save(fleet, repo)

    assert applied(tmp_path, repo, saved) == {k: v for k, v in contents(repo).items() if k != "ignored"}
    assert index == (repo / ".git" / "index").read_bytes()
    assert before == picture(repo / ".git")
    assert (saved.missing, saved.work.base) == (None, git(repo, "rev-parse", "HEAD"))
    assert {os.path.basename(one) for one in saved.patches} == set(os.listdir(fleet.layout.rescues))


def only_staged(repo):
    """Everything that an index can hold alone: added and removed again, and changed back or on; what of it is in HEAD."""
    for name in ("added", "on"):
        (repo / name).write_bytes(b"precious\n")
    (repo / "text").write_text("staged\n")
    (repo / "tool").chmod(0o755)
    git(repo, "add", "--all")
    (repo / "added").unlink()
    (repo / "on").write_text("later\n")
    git(repo, "restore", "--source=HEAD", "--worktree", "text", "tool")


def test_what_only_the_index_holds_is_saved(fleet, repo, tmp_path):
    """Staged and then removed, reverted or changed on: a second patch gives the whole index on a clean checkout."""
    only_staged(repo)
    listed = git(repo, "ls-files", "--stage")

    saved = save(fleet, repo)

    made = applied(tmp_path, repo, saved, staged=True)
    assert (b"precious\n", b"precious\n", b"staged\n") == (made["added"][0], made["on"][0], made["text"][0])
    assert made["tool"][1]
    assert listed == git(tmp_path / "staged", "ls-files", "--stage")
    assert b"later\n" == applied(tmp_path, repo, saved)["on"][0]
    assert (None, 1) == (saved.missing, saved.work.files)


def test_files_that_are_as_committed_can_leave_a_staged_patch_alone(fleet, repo, tmp_path):
    """Where the files equal HEAD, what was staged is saved and there is no other patch."""
    (repo / "text").write_text("staged\n")
    git(repo, "add", "text")
    git(repo, "restore", "--source=HEAD", "--worktree", "text")

    saved = save(fleet, repo)

    assert saved.patch is None
    assert b"staged\n" == applied(tmp_path, repo, saved, staged=True)["text"][0]


def test_what_is_staged_and_also_in_a_file_needs_no_second_patch(fleet, repo):
    """Some files staged and others not, staged removals, and no index at all: nothing is in the index alone."""
    (repo / "text").write_text("staged\n")
    git(repo, "add", "text")
    git(repo, "rm", "-q", "--cached", "gone")
    (repo / "gone").write_text("changed\n")
    (repo / "tool").write_text("not staged\n")
    first = save(fleet, repo)
    (repo / ".git" / "index").unlink()
    second = save(fleet, repo)

    assert (None, None) == (first.staged, second.staged)
    assert first.work.tree == second.work.tree


def test_a_conflict_that_no_operation_explains_is_said(fleet, repo):
    """The sides of a conflict of `git apply --3way` are in the index alone, and fit into no patch."""
    (repo / "text").write_text("one\nzwei\n")
    patch = git(repo, "diff")
    (repo / "text").write_text("one\ndeux\n")
    git(repo, "commit", "-qam", "french")
    (repo.parent / "patch").write_text(patch + "\n")
    git(repo, "apply", "--3way", str(repo.parent / "patch"), code=1)
    assert "UU text" in git(repo, "status", "--short")

    assert "the sides of the conflict in text" == save(fleet, repo).missing


def test_no_patch_is_written_over_another(fleet, repo):
    """In the same second, what is the same keeps its name, and what is not takes the next; a rescue replaces its own."""
    (repo / "text").write_text("first\n")
    first = save(fleet, repo)
    assert first == save(fleet, repo)
    (repo / "text").write_text("second\n")
    second = save(fleet, repo)

    assert first.patch.removesuffix(".patch") + "-2.patch" == second.patch
    assert "+first" in Path(first.patch).read_text()
    (repo / "text").write_text("third\n")
    third = save(fleet, repo, earlier=second)
    assert third == save(fleet, repo, earlier=third)
    assert sorted(map(os.path.basename, (first.patch, third.patch))) == sorted(os.listdir(fleet.layout.rescues))


def test_what_an_earlier_rescue_saved_to_the_byte_gets_no_second_patch(fleet, repo):
    """The patch of an earlier rescue is named again, with its staged one, and never goes with what a later one replaces."""
    only_staged(repo)
    first = save(fleet, repo)
    again = save(fleet, repo, time="20261130-140000")

    assert (first.patches, ()) == (again.patches, again.own)
    assert first.patches == save(fleet, repo, again, "20261130-140000").patches
    (repo / "new").write_text("more\n")
    later = save(fleet, repo, again, "20261130-140000")
    assert later.patch.endswith("-20261130-140000.patch")
    assert {*first.patches, *later.patches} == {str(p) for p in Path(fleet.layout.rescues).iterdir()}
    (repo / "new").unlink()
    assert first.patches == save(fleet, repo, later, "20261130-140000").patches
    assert set(first.patches) == {str(p) for p in Path(fleet.layout.rescues).iterdir()}


def test_nothing_to_save_leaves_no_patch(fleet, repo):
    """A clean tree has no patch, and nothing is left behind."""
    saved = save(fleet, repo)

    assert (None, 0, []) == (saved.patch, saved.work.files, os.listdir(fleet.layout.rescues))


def test_changes_that_git_was_told_not_to_see_are_saved(fleet, repo, tmp_path):
    """assume-unchanged and skip-worktree hide nothing from a rescue, and stay as they were."""
    git(repo, "update-index", "--assume-unchanged", "text")
    git(repo, "update-index", "--skip-worktree", "tool")
    (repo / "text").write_text("hidden\n")
    (repo / "tool").write_text("hidden too\n")

    saved = save(fleet, repo)

    made = applied(tmp_path, repo, saved)
    assert (b"hidden\n", b"hidden too\n") == (made["text"][0], made["tool"][0])
    assert "h text" in git(repo, "ls-files", "-v")


def test_a_change_in_the_moment_of_the_last_commit_is_seen(fleet, repo):
    """A file that was written as the index was, to the same length, differs by nothing that lstat tells; git tells by the
    time of the index that it must read it, also through a copy."""
    git(repo, "config", "core.trustctime", "false")
    at = 1_796_000_000_000_000_000
    os.utime(repo / "text", ns=(at, at))
    git(repo, "update-index", "--refresh")
    (repo / "text").write_text("two\none\n")
    for path in (repo / "text", repo / ".git" / "index"):
        os.utime(path, ns=(at, at))

    assert 1 == save(fleet, repo).work.files


def test_configuration_changes_nothing(fleet, repo, tmp_path):
    """No prefix, external diff, colour, rename detection or whitespace rule of the user's gets into the patch."""
    for name, value in (("diff.noprefix", "true"), ("diff.external", "false"), ("color.ui", "always"),
                        ("diff.renames", "copies"), ("apply.whitespace", "error-all"), ("diff.mnemonicPrefix", "true"),
                        ("core.autocrlf", "input"), ("diff.submodule", "log")):  # fmt: skip
        git(repo, "config", name, value)
    (repo / "text").rename(repo / "renamed")
    (repo / "blank").write_text("trailing   \n\t \n\n")

    saved = save(fleet, repo)

    assert {"renamed", "blank"} <= set(applied(tmp_path, repo, saved))


def test_before_the_first_commit(fleet, tmp_path):
    """What lies in a repository without any commit is saved against nothing."""
    folder = tmp_path / "new"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a").write_text("a\n")

    saved = save(fleet, folder)

    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "apply", "--index", saved.patch)
    assert (None, contents(folder)) == (saved.work.base, contents(other))


def test_a_merge_with_conflicts_is_saved_and_said(fleet, repo, tmp_path):
    """The files are saved as they stand, marks of the conflict and all; that a merge was going on is what is missing."""
    git(repo, "checkout", "-qb", "side")
    (repo / "text").write_text("side\n")
    git(repo, "commit", "-qam", "side")
    git(repo, "checkout", "-q", "main")
    (repo / "text").write_text("main\n")
    git(repo, "commit", "-qam", "main")
    git(repo, "merge", "side", code=1)

    saved = save(fleet, repo)

    assert "a merge that is unfinished" == saved.missing
    assert b"<<<<<<<" in applied(tmp_path, repo, saved)["text"][0]
    assert "UU text" in git(repo, "status", "--short")


@pytest.mark.parametrize("commits", [0, 1])
def test_a_repository_below_is_said(fleet, repo, commits):
    """A nested repository, with a commit or without, is left out, and said: the tree is not whole without it."""
    nested = repo / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "a").write_text("a\n")
    if commits:
        git(nested, "add", "--all")
        git(nested, "commit", "-qm", "c")
    (repo / "text").write_text("changed\n")

    saved = save(fleet, repo)

    assert "another repository below it, nested" == saved.missing
    assert 1 == saved.work.files


def test_work_inside_of_a_submodule_is_said(fleet, repo, tmp_path):
    """A patch of the superproject does not hold what is dirty in its submodule."""
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "a").write_text("a\n")
    git(library, "add", "--all")
    git(library, "commit", "-qm", "c")
    git(repo, "submodule", "--quiet", "add", str(library), "lib")
    git(repo, "commit", "-qm", "lib")
    (repo / "lib" / "a").write_text("dirty\n")
    (repo / "text").write_text("changed\n")

    saved = save(fleet, repo)

    assert saved.missing.startswith("submodule lib")
    assert 1 == saved.work.files


def test_a_patch_that_would_give_something_else_is_none(fleet, repo, monkeypatch):
    """Whatever makes git's patch differ from the files: it is tried before anything rests on it, and thrown away."""
    (repo / "text").write_text("one \n  two\n")
    (repo / "new").write_text("new\n")
    monkeypatch.setattr("fleet.git.patch._PLAIN", ("--binary", "--full-index", "--ignore-all-space"))

    with pytest.raises(FleetError, match="would not give the same files"):
        save(fleet, repo)

    assert [] == os.listdir(fleet.layout.rescues)


def test_what_cannot_be_saved_fails_and_leaves_nothing(fleet, repo, monkeypatch):
    """Too much for a patch, a file that cannot be read, a disk without room: an error, no patch, no scratch."""
    (repo / "big").write_bytes(b"x" * 4096)
    with monkeypatch.context() as changed, pytest.raises(FleetError, match="more than a patch can hold"):
        changed.setattr("fleet.git.patch.LARGEST_BYTES", 1000)
        save(fleet, repo)
    (repo / ".git" / "objects").rename(repo / ".git" / "taken")
    with pytest.raises(FleetError):
        save(fleet, repo)

    assert [] == os.listdir(fleet.layout.rescues)


def test_where_there_is_no_working_tree(fleet, tmp_path):
    """A folder in no repository, one that is gone and a bare repository have none."""
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    for folder in (tmp_path, tmp_path / "gone", tmp_path / "bare.git"):
        with pytest.raises(NotFound):
            save(fleet, folder)
