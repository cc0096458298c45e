"""Reading and writing files that other processes read at the same time and that a kill -9 may interrupt.

A file is published by writing a sibling `.NAME.PID.HEX.tmp` and renaming it over the target, so a reader sees the
old or the new bytes and never a part. A line is appended by one write on an O_APPEND descriptor: on a local file
system lines of concurrent writers do not mix (8 writers x 1,500 lines of up to 5 kB, ext4); no promise on NFS.
Locks are flock(2): the kernel gives them back when the holder dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from fleet.errors import BadFile, NewerSchema, TimedOut
from fleet.formats import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

MAX_JSON_BYTES = 16 * 1024 * 1024
LOCK_POLL_SECONDS = 0.004


def ensure_dir(path: str) -> None:
    """Make *path* and its parents, each 0700 when made."""
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        if parent and parent != path:
            ensure_dir(parent)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise


def temporary(path: str) -> str:
    """
    A name beside *path* for what becomes it, or is needed on the way there.

    What lies under such a name in a folder of the fleet home is removed when the process that chose it is no more.
    """
    # Random, because what a killed process left behind must not stop a later one that was given the same pid.
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.{os.urandom(4).hex()}.tmp")


def write_file(path: str, data: bytes, *, sync: bool = True, mode: int = 0o600) -> None:
    """
    Replace *path* by *data* atomically.

    Args:
        sync: fsync the file before and its folder after the rename (handoffs, queue entries, records). Health
            writes need none. A failing fsync of the folder comes after the commit and is not an error.

    Raises:
        OSError: nothing was changed; no temporary file is left.
    """
    temp = temporary(path)
    try:
        _write_new(temp, data, sync=sync, mode=mode)
        os.replace(temp, path)
    except BaseException:
        _unlink_quietly(temp)
        raise
    if sync:
        sync_dir(os.path.dirname(path))


def create_file(path: str, data: bytes, *, sync: bool = True) -> bool:
    """Publish *path* with *data*, whole or not at all, only if it does not exist yet; whether this call did it."""
    temp = temporary(path)
    try:
        _write_new(temp, data, sync=sync)
        os.link(temp, path)
    except FileExistsError:
        return False
    finally:
        _unlink_quietly(temp)
    if sync:
        sync_dir(os.path.dirname(path))
    return True


def _write_new(path: str, data: bytes, *, sync: bool, mode: int = 0o600) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def sync_dir(path: str) -> None:
    """Make a rename or removal in *path* durable, where the file system can."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass
    finally:
        os.close(fd)


def _unlink_quietly(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def remove_file(path: str) -> bool:
    """Remove *path*; whether it was there. Safe to repeat."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    sync_dir(os.path.dirname(path))
    return True


def ensure_link(path: str, target: str) -> None:
    """Make *path* a symbolic link to *target*, which is made as a folder where there is nothing. Safe to repeat."""
    if not os.path.exists(target):
        ensure_dir(target)
    ensure_dir(os.path.dirname(path))
    try:
        os.symlink(target, path)
    except FileExistsError:
        if os.path.realpath(path) != os.path.realpath(target):
            raise


def remove_tree(path: str) -> None:
    """Remove a folder of ours and all in it; links in it go, what they lead to stays. Safe to repeat."""
    import shutil  # noqa: PLC0415  # too dear for a hook, and none removes a folder

    shutil.rmtree(path, ignore_errors=True)


def append_line(path: str, line: bytes) -> None:
    """
    Append one line (without its newline) in a single write; the file is made 0600 when missing.

    Raises:
        OSError: not all of it could be written. What was is a line of its own, so that the next one is whole.
    """
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        written = os.write(fd, line + b"\n")
        if written <= len(line):
            _end_line(path, fd)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(fd)


def _end_line(path: str, fd: int) -> None:
    """Make the last byte that was written to *fd* a newline: on a full disk there is no room for one more."""
    end = os.lseek(fd, 0, os.SEEK_CUR)
    try:
        again = os.open(path, os.O_WRONLY | os.O_CLOEXEC)  # a descriptor that appends writes nowhere else
    except OSError:
        return
    try:
        if end and os.path.sameopenfile(fd, again):
            os.pwrite(again, b"\n", end - 1)
    finally:
        os.close(again)


def encode(data: object) -> bytes:
    """JSON as fleet writes it: two spaces, key order kept, one newline at the end; a lone surrogate is escaped."""
    return (jsontext.pretty(data) + "\n").encode("utf-8", "backslashreplace")


def read_bytes(path: str, limit: int = MAX_JSON_BYTES) -> bytes:
    """
    The bytes of a regular file. A FIFO, socket or folder at that path neither blocks nor passes.

    Raises:
        FileNotFoundError: there is no such file.
        BadFile: it is there and cannot be read as a file of ours.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as e:
        raise BadFile(path, os.strerror(e.errno or 0)) from e
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise BadFile(path, "not a regular file")
        if info.st_size > limit:
            raise BadFile(path, f"larger than {limit} bytes")
        parts = []
        while part := os.read(fd, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    except OSError as e:
        raise BadFile(path, os.strerror(e.errno or 0)) from e
    finally:
        os.close(fd)


def read_object(path: str, *, schema: int | None = None) -> dict[str, Any]:
    """
    A JSON object from *path*.

    Args:
        schema: the newest `schema_version` the caller knows; None when the file carries none.

    Raises:
        FileNotFoundError: there is no such file.
        BadFile: not UTF-8, not JSON, not an object, or without a usable schema_version.
        NewerSchema: written by a newer fleet.
    """
    raw = read_bytes(path)
    try:
        data = jsontext.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as e:
        raise BadFile(path, "not UTF-8") from e
    except (ValueError, RecursionError) as e:
        raise BadFile(path, f"not JSON ({e})") from e
    if not isinstance(data, dict):
        raise BadFile(path, "not a JSON object")
    if schema is not None:
        check_schema(path, data, schema)
    return data


def check_schema(path: str, data: Mapping[str, Any], newest: int) -> None:
    """
    Make sure that *data* of the file at *path* has a `schema_version` that the caller knows.

    Raises:
        BadFile: it has none that is usable.
        NewerSchema: written by a newer fleet.
    """
    version = data.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise BadFile(path, f"schema_version is {version!r}")
    if version > newest:
        raise NewerSchema(path, version, newest)


def move_no_clobber(source: str, target: str) -> bool:
    """Rename *source* to *target* unless *target* exists; False when *source* is gone. Safe to repeat."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except FileExistsError:
        if not os.path.exists(source):
            return False
        if not os.path.samefile(source, target):
            raise
    os.unlink(source)
    sync_dir(os.path.dirname(target))
    return True


class Lock:
    """
    An exclusive flock on *path*, as a context manager.

    A lock file may be removed by who holds it, and by nobody else (`retire`). Whoever waited on that file holds a file
    without a name then, sees it, and begins again with the new one: no two processes hold "the" lock.
    """

    def __init__(
        self,
        path: str,
        timeout_seconds: float = 10.0,
        *,
        sleep: Callable[[float], None] = time.sleep,  # noqa: TID251  # hooks cannot import fleet.clock
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self._timeout = timeout_seconds
        self._sleep = sleep
        self._monotonic = monotonic
        self._fd = -1

    def try_acquire(self) -> bool:
        """Take the lock now or not at all."""
        if self._fd < 0:
            ensure_dir(os.path.dirname(self.path))
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        if self._is_current():
            return True
        self.release()
        return False

    def _is_current(self) -> bool:
        """Whether the file that is locked is still the one with that name."""
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            return False
        held = os.fstat(self._fd)
        return (named.st_ino, named.st_dev) == (held.st_ino, held.st_dev)

    def retire(self) -> bool:
        """Remove the lock file when nobody holds the lock now; whether that was done."""
        try:
            if not os.path.exists(self.path) or not self.try_acquire():
                return False
            os.unlink(self.path)
            return True
        finally:
            self.release()

    def release(self) -> None:
        """Give the lock back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        """
        Wait for the lock.

        Raises:
            TimedOut: another process held it for all of the time allowed.
        """
        end = self._monotonic() + self._timeout
        while not self.try_acquire():
            if self._monotonic() >= end:
                self.release()
                raise TimedOut(f"{self.path}: locked by another process for {self._timeout:g} s")
            self._sleep(LOCK_POLL_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
