"""What is not committed in a working tree, as patches, without touching its index, its files or its repository.

The tree is written through an index and an object folder of our own (git 2.39.5: objects that are missing there are
found through GIT_ALTERNATE_OBJECT_DIRECTORIES, also those of the repository's own alternates). The user's index is
copied first, so that git need not read every file again, and with its time: a file that was written in the moment in
which the index was is one that git reads again, and it tells by that time. Marks that hide changes (assume-unchanged,
and skip-worktree outside of a sparse checkout) are taken off the copy. A patch is good when applying it to HEAD gives
that very tree, id for id. `git apply` takes none over 1023 MiB.

What was staged may be nowhere else: the file was changed again, or removed. So the index has a tree of its own before
the files go over it, and a patch of its own when it holds something that neither HEAD nor the files have. The stages of
a conflict fit into no tree and into no patch; they are counted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass

from fleet.errors import Refused
from fleet.formats.atomic import temporary
from fleet.git.branches import commit_of
from fleet.git.runner import GitFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Self

    from fleet.git.runner import Git

SAVE_SECONDS = 600.0
LARGEST_BYTES = 900 * 1024 * 1024  #: of changed and untracked files together
#: The objects go with the scratch, and deflating them takes as long as all else (60 MB of random bytes: 1.8 s for 0.4).
_UNPACKED = ("-c", "core.looseCompression=0")
_PLAIN = ("--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True, slots=True)
class Work:
    """What is not committed."""

    base: str | None  #: the commit that it builds on; None before the first
    base_tree: str
    tree: str  #: all of the working tree but what git ignores
    files: int  #: how many paths differ
    staged_tree: str | None = None  #: the index, when it holds what neither the commit nor the working tree has
    conflicts: tuple[str, ...] = ()  #: an id of the stages, and the paths that have them; no patch holds these

    @property
    def is_nothing(self) -> bool:
        """Whether the files are as they were committed."""
        return self.base_tree == self.tree


class Scratch:
    """
    An index and an object folder in *room*, a folder of the fleet home; they go away, after a kill by the sweep.

    *leave_out* are paths that are not to be saved.
    """

    def __init__(self, git: Git, room: str, leave_out: Iterable[str] = ()) -> None:
        self._room = room
        self._plain = git
        self._leave_out = sorted(leave_out)
        self._folder = ""
        self._git = git

    def __enter__(self) -> Self:
        git = self._plain
        objects = _path(git, "objects")
        self._folder = temporary(os.path.join(self._room, "scratch"))
        os.mkdir(self._folder, 0o700)
        own = os.path.join(self._folder, "objects")
        os.mkdir(own)
        index = os.path.join(self._folder, "index")
        try:
            shutil.copy2(_path(git, "index"), index)
        except FileNotFoundError:
            pass
        variables = {
            "GIT_INDEX_FILE": index, "GIT_OBJECT_DIRECTORY": own,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects),
        }  # fmt: skip
        self._git = type(git)(git.folder, git.environ, mark=git.mark, own=variables)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def look(self) -> Work:
        """
        What is not committed now.

        Raises:
            GitFailed, TimedOut: git could not read all of it.
            Refused: it is more than a patch can hold.
        """
        git = self._git
        base = commit_of(git, "HEAD")
        base_tree = git.run("rev-parse", "HEAD^{tree}").strip() if base else git.run("mktree").strip()
        self._measure()
        conflicts = self._conflicts()
        index_tree = git.run("write-tree", seconds=SAVE_SECONDS).strip() if not conflicts else base_tree
        sparse = self._show_all()
        pathspec = [f":(top,exclude,literal){path}" for path in self._leave_out]
        # What is left out has the repositories below: one without a commit makes `add` fail, others go in as links.
        outside = ["--sparse"] if sparse else []
        git.run(*_UNPACKED, "add", "--all", *outside, "--", ":/", *pathspec, seconds=SAVE_SECONDS)
        tree = git.run("write-tree", seconds=SAVE_SECONDS).strip()
        # A path that the index does not have is none that it has alone.
        alone = self._differing(base_tree, index_tree, "d") & self._differing(tree, index_tree, "d")
        files = len(self._differing(base_tree, tree))
        return Work(base, base_tree, tree, files, index_tree if alone else None, conflicts)

    def _conflicts(self) -> tuple[str, ...]:
        """As in Work, of the index as it was copied."""
        lines = [line for line in self._git.run("ls-files", "--unmerged", "-z", "--", ":/").split("\0") if line]
        if not lines:
            return ()
        stages = hashlib.sha256("\0".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
        return (stages, *sorted({line.partition("\t")[2] for line in lines}))

    def _differing(self, one: str, other: str, kinds: str = "") -> set[str]:
        """The paths in which two trees differ; *kinds* as git's --diff-filter takes them, all by default."""
        names = self._git.run(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", f"--diff-filter={kinds}", one, other,
            seconds=SAVE_SECONDS,
        )  # fmt: skip
        return {name for name in names.split("\0") if name}

    def save(self, work: Work, tree: str, path: str) -> None:
        """
        Write the patch that makes *tree*, one of those of *work*, to *path*; applying it to HEAD gives all of that.

        Raises:
            GitFailed, TimedOut, Refused: it could not be written, or would not give the same.
        """
        prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
        self._git.run(
            "diff-tree", "-r", "-p", *_PLAIN, *prefixes, f"--output={path}", work.base_tree, tree,
            seconds=SAVE_SECONDS,
        )  # fmt: skip
        self._git.run("read-tree", "--empty")
        self._git.run("read-tree", work.base_tree, seconds=SAVE_SECONDS)
        self._git.run(*_UNPACKED, "apply", "--cached", "--whitespace=nowarn", "--", path, seconds=SAVE_SECONDS)
        if self._git.run("write-tree", seconds=SAVE_SECONDS).strip() != tree:
            raise Refused(f"the patch {path} would not give the same files")

    def _measure(self) -> None:
        text = self._git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        total = 0
        for line in text.split("\0"):
            try:
                total += os.lstat(os.path.join(self._git.folder, line[3:])).st_size if line else 0
            except OSError:
                continue
        if total > LARGEST_BYTES:
            raise Refused(f"{total // 2**20} MiB of uncommitted files are more than a patch can hold")

    def _show_all(self) -> bool:
        """Take the marks off the copy of the index that keep git from seeing changes; whether it is sparse."""
        git = self._git
        sparse = git.ask("config", "--get", "core.sparseCheckout").out.strip() == "true"
        for line in git.run("ls-files", "-v", "-z").split("\0"):
            if line[:1].islower():
                git.run("update-index", "--no-assume-unchanged", "--", line[2:])
            if line[:1] in ("S", "s") and not sparse:
                git.run("update-index", "--no-skip-worktree", "--", line[2:])
        return sparse


def sync(path: str) -> None:
    """Make a patch durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _path(git: Git, name: str) -> str:
    """A file of the worktree's git directory, or of the one that it shares."""
    done = git.ask("rev-parse", "--path-format=absolute", "--git-path", name)
    if done.status != 0:
        raise GitFailed("rev-parse", done)
    return done.out.rstrip("\n")


def _quoted(path: str) -> str:
    """A path for a variable whose parts a colon separates; git takes C-quoted parts there."""
    if ":" not in path and not path.startswith('"'):
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
