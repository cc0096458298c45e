"""When somebody last did something in a working tree: its newest commit, and the newest write that git does not ignore.

Only what git calls changed or untracked is looked at, so that the cost goes with the work in hand and not with the
repository (`git status` of 100,000 files takes a second); a write that was committed since shows as the commit. At
most WALK_ENTRIES paths are looked at: with more, the newest of those is a floor.
"""

from __future__ import annotations

import os

from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.git.runner import Git

WALK_ENTRIES = 5000
STATUS_SECONDS = 30.0


class Newest(NamedTuple):
    """The newest write found."""

    at: float | None  #: wall seconds; None: there was none
    floored: bool = False  #: there was more to look at


def last_commit(git: Git) -> float | None:
    """The committer's time of HEAD, wall seconds; None before the first commit. Raises GitFailed, TimedOut."""
    if git.ask("rev-parse", "--verify", "--quiet", "HEAD").status == 1:
        return None
    return float(git.run("log", "-1", "--no-show-signature", "--format=%ct", "HEAD").strip())


def last_write(git: Git, now: float) -> Newest:
    """
    The newest write to a changed or untracked file; stamps later than *now* were made up and do not count.

    Raises:
        GitFailed, TimedOut: git could not say which files those are.
    """
    text = git.run(
        "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none",
        seconds=STATUS_SECONDS,
    )  # fmt: skip
    paths = (os.path.join(git.folder, line[3:]) for line in text.split("\0") if line)
    return newest(paths, now)


def below(folder: str, now: float) -> Newest:
    """The same for a folder that is in no repository: everything in it."""

    def every() -> Iterator[str]:
        for place, _, names in os.walk(folder):
            yield place
            yield from (os.path.join(place, name) for name in names)

    return newest(every(), now)


def newest(paths: Iterator[str], now: float) -> Newest:
    """The newest modification time of *paths*; a path that is gone tells by the folder that it was in."""
    found: float | None = None
    for count, path in enumerate(paths):
        if count >= WALK_ENTRIES:
            return Newest(found, floored=True)
        at = _modified(path)
        if at is not None and at <= now and (found is None or at > found):
            found = at
    return Newest(found)


def _modified(path: str) -> float | None:
    for one in (path, os.path.dirname(path)):
        try:
            return os.lstat(one).st_mtime
        except OSError:
            continue
    return None
