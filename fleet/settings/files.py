"""One settings file of the user's: read, changed and put back so that nobody's work is lost.

The new bytes go into a sibling and are renamed over the file that a symlink finally names, with its mode and owner;
just before, the file is read again, and when another program has changed it meanwhile the change is made anew on what
is there now. What stands before an edit is kept beside the file as `NAME.fleet-before-DIGEST`, where DIGEST is of the
bytes that the edit makes: who later finds exactly those bytes may put back exactly these. `NAME.fleet-absent-DIGEST`
says that there was no file. Both are written before the file is, so a kill leaves the old or the new file, and a rerun
finishes. Concurrent runs of fleet wait for each other on a lock of the folder itself, which leaves no file behind.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from dataclasses import dataclass

from fleet.errors import Refused
from fleet.formats.atomic import sync_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

MAX_BYTES = 4 * 1024 * 1024
MAX_BACKUPS = 3
TRIES = 5
LEFT_ALONE = "it was left as it is"


@dataclass(frozen=True, slots=True)
class Change:
    """What one run did, or would do."""

    path: str  #: the file itself, behind any symlink
    before: bytes | None  #: None: there was no file
    after: bytes | None  #: None: there is no file any more
    backup: str | None = None  #: where `before` is kept

    @property
    def changed(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


def change(path: str, make: Callable[[bytes | None, SettingsFile], bytes | None], *, dry_run: bool) -> Change:
    """
    Bring *path* from what it holds to what *make* says, at most once.

    Raises:
        Refused: it cannot be changed safely, or somebody keeps changing it. It was left as it is.
    """
    file = SettingsFile(path)
    if dry_run or not os.path.isdir(file.folder):
        before = file.read()
        found = Change(file.path, before, make(before, file))
        if dry_run or not found.changed:
            return found
    with file:
        for _ in range(TRIES):
            before = file.read()
            after = make(before, file)
            if before == after:
                file.tidy(after)
                return Change(file.path, before, after)
            backup = file.keep(before, after) if after is not None else None
            if file.put(before, after):
                file.tidy(after)
                return Change(file.path, before, after, backup if backup and os.path.exists(backup) else None)
    raise Refused(f"{file.path} was changed by another program {TRIES} times while fleet was at it; {LEFT_ALONE}")


class SettingsFile:
    """The file, as a context manager that holds the lock of its folder."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self.folder, self.name = os.path.split(self.path)
        self._temp = os.path.join(self.folder, f".{self.name}.fleet-new")
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            self._fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as e:
            raise Refused(f"{self.folder} cannot be opened: {e.strerror}; nothing was changed") from e
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def read(self) -> bytes | None:
        """What it holds, or None when it is not there."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as e:
            raise Refused(f"{self.path} cannot be read: {e.strerror}; {LEFT_ALONE}") from e
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            os.close(fd)
            raise Refused(f"{self.path} is no regular file; {LEFT_ALONE}")
        with os.fdopen(fd, "rb") as f:
            if info.st_nlink > 1:
                raise Refused(
                    f"{self.path} has {info.st_nlink} hard links, which replacing it would part; {LEFT_ALONE}",
                    hint="make the others symbolic links to it",
                )
            if info.st_size > MAX_BYTES:
                raise Refused(f"{self.path} is larger than {MAX_BYTES} bytes; {LEFT_ALONE}")
            return f.read()

    def kept(self, after: bytes) -> tuple[bool, bytes | None]:
        """Whether it is known what stood there before an edit that made *after*, and what did."""
        try:
            with open(self._backup(after), "rb") as f:
                return True, f.read()
        except FileNotFoundError:
            return os.path.exists(self._absent(after)), None

    def keep(self, before: bytes | None, after: bytes) -> str:
        """Keep what an edit that makes *after* is to be undone to: what *before* itself was made from, if known."""
        if before is not None:
            known, earlier = self.kept(before)
            before = earlier if known else before
        path = self._absent(after) if before is None else self._backup(after)
        self._write(path, before or b"")
        return path

    def put(self, before: bytes | None, after: bytes | None) -> bool:
        """Replace the file if it still holds *before*; whether it did."""
        if after is None:
            if self.read() != before:
                return False
            os.unlink(self.path)
        else:
            self._write(self._temp, after)
            if self.read() != before:
                os.unlink(self._temp)
                return False
            os.replace(self._temp, self.path)
        sync_dir(self.folder)
        return True

    def tidy(self, now: bytes | None) -> None:
        """Remove what an interrupted run left, backups of what stands there *now* anyway, and old ones."""
        if os.path.exists(self._temp):
            os.unlink(self._temp)
        prefixes = (f"{self.name}.fleet-before-", f"{self.name}.fleet-absent-")
        paths = [os.path.join(self.folder, n) for n in os.listdir(self.folder) if n.startswith(prefixes)]
        useless = [path for path in paths if self._holds(path) == now]
        others = sorted(set(paths) - set(useless), key=lambda path: os.stat(path).st_mtime_ns)
        for path in [*useless, *others[:-MAX_BACKUPS]]:
            os.unlink(path)

    def _holds(self, path: str) -> bytes | None:
        if os.path.basename(path).startswith(f"{self.name}.fleet-absent-"):
            return None
        with open(path, "rb") as f:
            return f.read()

    def _backup(self, after: bytes) -> str:
        return os.path.join(self.folder, f"{self.name}.fleet-before-{_digest(after)}")

    def _absent(self, after: bytes) -> str:
        return os.path.join(self.folder, f"{self.name}.fleet-absent-{_digest(after)}")

    def _write(self, path: str, data: bytes) -> None:
        """Write *path*, whole and durable, with the mode and owner of the file, over what an earlier try left."""
        try:
            like = os.stat(self.path)
        except FileNotFoundError:
            like = None
        try:
            if os.path.lexists(path):
                os.unlink(path)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as f:
                f.write(data)
                if like is not None:
                    if (like.st_uid, like.st_gid) != (os.getuid(), os.fstat(fd).st_gid):
                        os.fchown(fd, like.st_uid, like.st_gid)
                    os.fchmod(fd, stat.S_IMODE(like.st_mode))
                f.flush()
                os.fsync(fd)
        except OSError as e:
            if os.path.lexists(path):
                os.unlink(path)
            raise Refused(
                f"{path} cannot be written with the mode and owner of {self.name}: {e.strerror}; {LEFT_ALONE}"
            ) from e


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
