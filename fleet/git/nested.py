"""Repositories that would go with a worktree: those that lie below it, and those of its submodules.

A worktree's submodules have their repositories below its git directory (`modules/`, git 2.39.5), also after `git
submodule deinit` and `git rm`; `core.worktree` of such a one then names a folder that is gone, and git dies of that
unless it is given another. A folder whose entry is a link to a commit (mode 160000) is not looked into by `git status`
when there is no repository in it, whatever files it has.
"""

from __future__ import annotations

import os

from fleet.errors import Refused
from fleet.git.repository import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.git.runner import Git

LINK = "160000 "
BARE = frozenset({"HEAD", "objects", "refs"})


def directory_of(git: Git) -> str:
    """The git directory of the worktree that *git* stands in, or the one that it stands in itself."""
    return os.path.realpath(git.run("rev-parse", "--path-format=absolute", "--git-dir").rstrip("\n"))


def repositories(git: Git) -> tuple[str | None, list[str]]:
    """
    What lies below the worktree that *git* stands at the root of.

    Returns:
        A worktree or repository below it that is nobody's submodule, in words, and the folders of its own submodules.

    Raises:
        Refused: a folder could not be looked into.
    """
    top = os.path.realpath(git.folder)
    for entry in worktrees(git):
        if entry.path.startswith(top + "/"):
            return f"another worktree below it, {os.path.relpath(entry.path, top)}", []
    modules = os.path.join(directory_of(git), "modules")
    own = []
    for folder in _repositories_below(top):
        if not _leads_into(os.path.join(folder, ".git"), modules):
            return f"another repository below it, {os.path.relpath(folder, top)}", []
        own.append(folder)
    return None, own


def strangers(git: Git) -> list[str]:
    """The repositories below the worktree that *git* stands at the root of which are no submodule of it, by path."""
    top = os.path.realpath(git.folder)
    modules = os.path.join(directory_of(git), "modules")
    folders = (one for one in _repositories_below(top) if not _leads_into(os.path.join(one, ".git"), modules))
    return sorted(os.path.relpath(one, top) for one in folders)


def hollow_links(git: Git) -> str | None:
    """Files in a folder that git takes for that of a submodule without a repository, in words."""
    staged = git.run("ls-files", "--stage", "-z").split("\0")
    committed = git.run("ls-tree", "-r", "-z", "--full-tree", "HEAD").split("\0")
    for path in sorted({line.partition("\t")[2] for line in staged + committed if line.startswith(LINK)}):
        folder = os.path.join(git.folder, path)
        if os.path.isdir(folder) and not os.path.lexists(os.path.join(folder, ".git")) and os.listdir(folder):
            return f"files in {path}, which git takes for a submodule and does not look into"
    return None


def submodule_commits(git: Git, directory: str) -> str | None:
    """Work that only a submodule's repository below the git directory *directory* has, in words."""
    modules = os.path.join(directory, "modules")
    for repository in _git_directories(modules):
        name = os.path.relpath(repository, modules).replace("/modules/", "/")
        if _names(os.path.join(repository, "worktrees")):
            return f"submodule {name}, which has worktrees of its own"
        found = git.at(repository).run(
            "--git-dir=.", f"--work-tree={repository}", "rev-list", "--max-count=1", "HEAD", "--all", "--not",
            "--remotes", "--",
        )  # fmt: skip
        if found.strip():
            return f"commits in submodule {name} that its remote does not have"
    return None


def _repositories_below(top: str) -> Iterator[str]:
    """Folders below *top* that hold a repository, or are a bare one."""
    for folder, folders, files in os.walk(top, onerror=_refuse):
        if folder != top and (".git" in folders or ".git" in files or {*folders, *files} >= BARE):
            yield folder
        folders[:] = [name for name in folders if name != ".git"]


def _git_directories(modules: str) -> Iterator[str]:
    """The repositories of submodules, and of theirs; a name may be a path."""
    for folder, folders, files in os.walk(modules, onerror=_refuse):
        if "HEAD" in files and "objects" in folders:
            yield folder
            folders[:] = [name for name in folders if name == "modules"]


def _leads_into(file: str, modules: str) -> bool:
    """Whether a `.git` file names a git directory below *modules*."""
    if os.path.islink(file) or not os.path.isfile(file):
        return False
    with open(file, "rb") as f:
        word, _, named = os.fsdecode(f.read()).rstrip("\n").partition(": ")
    return word == "gitdir" and os.path.realpath(os.path.join(os.path.dirname(file), named)).startswith(modules + "/")


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _refuse(e: OSError) -> None:
    if not isinstance(e, FileNotFoundError):  # it went meanwhile
        raise Refused(f"{e.filename} cannot be looked into: {e.strerror}") from e
