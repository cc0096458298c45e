"""Bringing ignored files of the checkout into a fresh tree, as copies or links, without leaving either of them.

`git ls-files --others --ignored --directory` names an ignored folder once, however much is in it; with a pathspec
below such a folder it dies of an internal error (git 2.39.5), so patterns are matched here.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import stat

from fleet.errors import Refused, TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet.git.runner import Git
    from fleet.worktree.recipe import Recipe


class Bringer:
    """Brings files from one checkout into one new tree."""

    def __init__(self, git: Git, source: str, target: str, in_time: Callable[[], bool]) -> None:
        """Both folders with symlinks resolved; *in_time* is asked before every file."""
        self._git = git
        self._source = source
        self._target = target
        self._in_time = in_time
        self.links: list[str] = []
        self.notes: list[str] = []

    def bring(self, recipe: Recipe) -> None:
        """
        Copy, then link; `links` and `notes` tell what came of it.

        Raises:
            Refused: something would leave the checkout or the tree by a symlink.
            TimedOut: it took too long.
        """
        if not recipe.copy and not recipe.link:
            return
        listed = self._git.at(self._source).run(
            "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"
        )
        ignored = [name.rstrip("/") for name in listed.split("\0") if name]
        for what, patterns, act in (("copy", recipe.copy, self._copy), ("link", recipe.link, self._link)):
            for pattern in patterns:
                found = sorted(matches(self._source, ignored, pattern.strip("/")))
                if not found:
                    self.notes.append(f"{what}: {pattern!r} matches no ignored file of {self._source}")
                for name in found:
                    act(name)

    def _copy(self, name: str) -> None:
        target = self._place(name)
        if target is not None:
            self._copy_one(os.path.join(self._source, name), target)
            self._check_ignored(name)

    def _link(self, name: str) -> None:
        target = self._place(name)
        if target is not None:
            os.symlink(os.path.join(self._source, name), target)
            self.links.append(name)
            self._check_ignored(name)

    def _place(self, name: str) -> str | None:
        """Where *name* goes in the tree, its folders made; None when the branch has something there already."""
        source, target = os.path.join(self._source, name), os.path.join(self._target, name)
        if not _within(self._source, os.path.realpath(source)):
            raise Refused(f"{source} leads out of the repository by a symlink; it was not brought along")
        if _within(os.path.realpath(source), self._target):
            raise Refused(f"{source} holds the new tree itself", hint="name another root with worktree.folder")
        folder = self._target
        for part in os.path.dirname(name).split("/") if "/" in name else ():
            folder = os.path.join(folder, part)
            try:
                mode = os.lstat(folder).st_mode
            except FileNotFoundError:
                os.mkdir(folder)
                continue
            if not stat.S_ISDIR(mode):
                raise Refused(f"{folder} is a symlink or file in the branch, so {name} cannot be put below it")
        return None if os.path.lexists(target) else target

    def _copy_one(self, source: str, target: str) -> None:
        if not self._in_time():
            raise TimedOut(f"copying to {self._target} took longer than worktree.setup_seconds")
        mode = os.lstat(source).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(source), target)
        elif stat.S_ISDIR(mode):
            os.mkdir(target)
            for name in os.listdir(source):
                self._copy_one(os.path.join(source, name), os.path.join(target, name))
            shutil.copystat(source, target, follow_symlinks=False)
        elif stat.S_ISREG(mode):
            shutil.copy2(source, target, follow_symlinks=False)

    def _check_ignored(self, name: str) -> None:
        if self._git.at(self._target).ask("check-ignore", "--quiet", "--", name).status == 1:
            self.notes.append(f"{name} is not ignored in the new tree (a pattern ending in a slash takes no links)")


def matches(source: str, ignored: list[str], pattern: str) -> Iterator[str]:
    """The ignored names that *pattern* means, and what it means inside of ignored folders."""
    regex = re.compile(translate(pattern))
    parts = pattern.split("/")
    for name in ignored:
        if regex.fullmatch(name):
            yield name
            continue
        above = name.split("/")
        if len(above) < len(parts) and parts[: len(above)] == above and not glob.has_magic(name):
            root = os.path.join(source, name)
            if not os.path.islink(root):
                rest = "/".join(parts[len(above) :])
                yield from (
                    f"{name}/{one}" for one in glob.glob(rest, root_dir=root, recursive=True, include_hidden=True)
                )


def translate(pattern: str) -> str:
    """A pattern as a regular expression: `*` stays within a name, `**` means any folders, none included."""
    result, at = "", 0
    for found in re.finditer(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]", pattern):
        result += re.escape(pattern[at : found.start()])
        at, wild = found.end(), found[0]
        if wild == "**/":
            result += "(?:[^/]+/)*"
        elif wild == "**":
            result += ".*"
        elif wild in "*?":
            result += "[^/]" + ("*" if wild == "*" else "")
        else:
            body = wild[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            result += _class(f"[{'^' + body[1:] if body.startswith('!') else body.replace('^', chr(92) + '^')}]", wild)
    return result + re.escape(pattern[at:])


def _class(expression: str, wild: str) -> str:
    """A set of characters; what is none, as `[]` or `[z-a]`, means itself."""
    try:
        re.compile(expression)
    except re.error:
        return re.escape(wild)
    return expression


def _within(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder + "/")
