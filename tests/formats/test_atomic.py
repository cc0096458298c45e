"""Files that others read meanwhile and that a kill may interrupt: old or new, never a part; and the lock."""

import json
import multiprocessing
import os
import signal
import socket
import time

import pytest

from fleet.errors import BadFile, NewerSchema, TimedOut
from fleet.formats import atomic

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # children that only do and die
FORK = multiprocessing.get_context("fork")
CALLS = ("open", "write", "fsync", "replace", "link", "unlink", "close", "rename", "mkdir")


def dying(work, call_number):
    """Run *work* in a process that is killed just before its *call_number*-th system call; its exit status."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    seen = 0

    def guarded(real):
        def call(*args, **kwargs):
            nonlocal seen
            seen += 1
            if seen == call_number:
                os._exit(77)
            return real(*args, **kwargs)

        return call

    try:
        for name in CALLS:
            setattr(os, name, guarded(getattr(os, name)))
        work()
        os._exit(0)
    finally:
        os._exit(99)


def every_death(work, check):
    """Kill *work* before each of its system calls in turn, and let it live at last; *check* after each; the deaths."""
    for number in range(1, 100):
        status = dying(work, number)
        assert status in (0, 77)
        check()
        if status == 0:
            return number - 1
    raise AssertionError("it never came to its end")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def rests(folder):
    """The temporary files in *folder*."""
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("old", [b"old" * 1000, None])
def test_a_writer_killed_anywhere_leaves_old_or_new(tmp_path, sync, old):
    """Before every system call of a replace, whoever reads finds the old bytes or the new ones, whole."""
    path, new = str(tmp_path / "record.json"), b"new" * 4000
    if old is not None:
        atomic.write_file(path, old)

    def check():
        found = read(path) if os.path.exists(path) else None
        assert found in (old, new)

    assert every_death(lambda: atomic.write_file(path, new, sync=sync), check) >= 4
    assert new == read(path)


def test_a_creator_killed_anywhere_leaves_nothing_or_all(tmp_path):
    """A file that is published once is not there or whole; what is left over never stops the next try."""
    path, data = str(tmp_path / "spawn-fresh-a1b2c3d4.json"), b"entry" * 1000

    def check():
        if os.path.exists(path):
            assert data == read(path)
            os.unlink(path)

    assert every_death(lambda: atomic.create_file(path, data), check) >= 5
    assert atomic.create_file(path, data)


def test_a_move_killed_anywhere_can_be_repeated(tmp_path):
    """After any death the file is at its source or its target, whole, and the same move brings it home."""
    source, target = str(tmp_path / "a"), str(tmp_path / "b")

    def work():
        atomic.move_no_clobber(source, target)

    for number in range(1, 20):
        atomic.write_file(source, b"x")
        status = dying(work, number)
        assert b"x" in {read(p) for p in (source, target) if os.path.exists(p)}
        atomic.move_no_clobber(source, target)
        assert not os.path.exists(source)
        assert b"x" == read(target)
        os.unlink(target)
        if status == 0:
            break
    assert 0 == status


def test_a_move_never_overwrites(tmp_path):
    """Another file at the target stops the move and both stay as they are."""
    source, target = str(tmp_path / "a"), str(tmp_path / "b")
    atomic.write_file(source, b"a")
    atomic.write_file(target, b"b")
    with pytest.raises(FileExistsError):
        atomic.move_no_clobber(source, target)
    assert (b"a", b"b") == (read(source), read(target))


def test_a_move_that_was_made_is_made(tmp_path):
    """Whether this call did it: once."""
    source, target = str(tmp_path / "a"), str(tmp_path / "b")
    atomic.write_file(source, b"a")
    assert [True, False] == [atomic.move_no_clobber(source, target) for _ in range(2)]


def test_a_failed_write_leaves_the_old_bytes_and_no_rest(tmp_path, monkeypatch):
    """A full disk changes nothing."""
    path = str(tmp_path / "f")
    atomic.write_file(path, b"old")

    def full(fd, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        atomic.write_file(path, b"new")
    assert b"old" == read(path)
    assert [] == rests(tmp_path)


def test_a_short_write_is_continued(tmp_path, monkeypatch):
    """A write that took only some of the bytes is not taken for all of them."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
    atomic.write_file(str(tmp_path / "f"), b"0123456789" * 10)
    assert b"0123456789" * 10 == read(tmp_path / "f")


def test_a_failing_sync_of_the_folder_is_no_failure(tmp_path, monkeypatch):
    """It comes after the rename: the caller would undo what has happened."""
    real = os.fsync

    def fsync(fd):
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(5, "Input/output error")
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    atomic.write_file(str(tmp_path / "f"), b"new")
    assert b"new" == read(tmp_path / "f")


def test_what_a_killed_process_left_does_not_stop_another_with_its_pid(tmp_path):
    """Pids are reused, temporary names are not."""
    path = str(tmp_path / "f")
    for _ in range(3):
        assert 77 == dying(lambda: atomic.write_file(path, b"x"), 4)
    assert 3 == len(set(rests(tmp_path)))
    assert 3 == len({atomic.temporary(path) for _ in range(3)})


def test_a_file_is_its_owners_alone(tmp_path):
    """Records, messages and launch environments are 0600, the folders 0700."""
    folder = str(tmp_path / "a" / "b")
    atomic.ensure_dir(folder)
    atomic.write_file(os.path.join(folder, "f"), b"")
    atomic.append_line(os.path.join(folder, "l"), b"")
    modes = [os.stat(p).st_mode & 0o777 for p in (str(tmp_path / "a"), folder, folder + "/f", folder + "/l")]
    assert [0o700, 0o700, 0o600, 0o600] == modes


def test_a_file_is_created_once(tmp_path):
    """The first content stays."""
    path = str(tmp_path / "f")
    assert [True, False] == [atomic.create_file(path, data) for data in (b"first", b"second")]
    assert b"first" == read(path)
    assert [] == rests(tmp_path)


def test_removing_is_safe_to_repeat(tmp_path):
    """Whether it was there: once."""
    atomic.write_file(str(tmp_path / "f"), b"")
    assert [True, False] == [atomic.remove_file(str(tmp_path / "f")) for _ in range(2)]


def test_a_line_that_found_no_room_takes_no_other_with_it(tmp_path, monkeypatch):
    """A full disk takes a part of a line: that is an error, and the next line is whole."""
    path, write = str(tmp_path / "l"), os.write
    atomic.append_line(path, b"first")
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    with pytest.raises(OSError, match="No space"):
        atomic.append_line(path, b"second")
    monkeypatch.setattr(os, "write", write)
    atomic.append_line(path, b"third")
    assert [b"first", b"se", b"third"] == read(path).splitlines()


def _append(path, writer, barrier):
    barrier.wait()
    for number in range(200):
        atomic.append_line(path, json.dumps({"w": writer, "n": number, "pad": "x" * (number * 20)}).encode())


def test_lines_of_eight_writers_stay_whole(tmp_path):
    """1,600 lines of up to 4 kB that eight processes append at once are all there, each in one piece and in order."""
    path, barrier = str(tmp_path / "events.jsonl"), FORK.Barrier(8)
    writers = [FORK.Process(target=_append, args=(path, n, barrier)) for n in range(8)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    lines = [json.loads(line) for line in read(path).splitlines()]
    assert [list(range(200))] * 8 == [[line["n"] for line in lines if line["w"] == w] for w in range(8)]


def _socket(path):
    os.chdir(os.path.dirname(path))  # a socket's path is limited to about 100 bytes
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(os.path.basename(path))


BAD = {
    "a FIFO": (os.mkfifo, "not a regular file"),
    "a folder": (os.mkdir, "not a regular file"),
    "a socket": (_socket, "No such device or address"),
    "an endless device": (lambda p: os.symlink("/dev/zero", p), "not a regular file"),
    "a link to itself": (lambda p: os.symlink(os.path.basename(p), p), "symbolic links"),
    "empty": (b"", "not JSON"),
    "cut off": (b'{"schema_version": 1, "id": "a1', "not JSON"),
    "not UTF-8": (b'{"schema_version": 1, "x": "\xff"}', "not UTF-8"),
    "UTF-16": ('{"schema_version": 1}'.encode("utf-16"), "not UTF-8"),
    "a list": (b"[]", "not a JSON object"),
    "a text": (b'"x"', "not a JSON object"),
    "a number": (b"1", "not a JSON object"),
    "null": (b"null", "not a JSON object"),
    "zeros, as after a power cut": (b"\0" * 512, "not JSON"),
    "nested without end": (b'{"a":' * 200_000, "not JSON"),
    "a list nested without end": (b"[" * 200_000, "not JSON"),
    "a number without end": (b'{"schema_version": ' + b"9" * 100_000 + b"}", "not JSON"),
    "no schema": (b"{}", "schema_version is None"),
    "schema true": (b'{"schema_version": true}', "schema_version is True"),
    "schema 0": (b'{"schema_version": 0}', "schema_version is 0"),
    "schema as a text": (b'{"schema_version": "1"}', "schema_version is '1'"),
    "two objects": (b'{"schema_version": 1}{}', "not JSON"),
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_by_its_name(tmp_path, monkeypatch, what):
    """Whatever lies at a path of ours, reading it ends soon, says which file and why, and leaves it there."""
    monkeypatch.chdir(tmp_path)
    content, reason = BAD[what]
    path = str(tmp_path / "record.json")
    if callable(content):
        content(path)
    else:
        with open(path, "wb") as f:
            f.write(content)
    with pytest.raises(BadFile) as caught:
        atomic.read_object(path, schema=1)
    assert path == caught.value.path
    assert reason in caught.value.reason
    assert os.path.lexists(path)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    """A hook that was pointed at a core dump does not load it."""
    path = str(tmp_path / "f")
    with open(path, "wb") as f:
        f.truncate(1 << 40)
    with pytest.raises(BadFile, match="larger than 16777216 bytes"):
        atomic.read_object(path)


def test_a_newer_file_is_told_from_a_bad_one(tmp_path):
    """NewerSchema says both versions and what to do."""
    path = str(tmp_path / "f")
    atomic.write_file(path, atomic.encode({"schema_version": 7}))
    with pytest.raises(NewerSchema, match="schema_version 7 is newer than 2") as caught:
        atomic.read_object(path, schema=2)
    assert "upgrade fleet" in caught.value.hint


def test_a_missing_file_is_no_bad_file(tmp_path):
    """Not there and not readable are different answers."""
    with pytest.raises(FileNotFoundError):
        atomic.read_object(str(tmp_path / "f"), schema=1)


def test_json_has_these_bytes():
    """Two spaces, keys in their order, text as it is, one newline; a lone surrogate is escaped so that it can be read."""
    expected = '{\n  "b": "ä→\\udce9",\n  "a": [\n    1\n  ]\n}\n'.encode()
    assert expected == atomic.encode({"b": "ä→\udce9", "a": [1]})
    assert {"b": "ä→\udce9", "a": [1]} == json.loads(expected)


def _hold(path, ready, seconds):
    with atomic.Lock(path):
        ready.set()
        time.sleep(seconds)


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock until it is killed."""
    ready = FORK.Event()
    process = FORK.Process(target=_hold, args=(str(tmp_path / "x.lock"), ready, 60))
    process.start()
    assert ready.wait(10)
    yield process
    process.kill()
    process.join()


def test_a_lock_that_another_process_holds_is_not_taken(tmp_path, holder):
    """Not even tried twice."""
    lock = atomic.Lock(str(tmp_path / "x.lock"))
    assert [False, False] == [lock.try_acquire(), lock.try_acquire()]
    lock.release()


def test_waiting_for_a_lock_ends_with_its_name(tmp_path, holder, clock):
    """After the time allowed, measured on the monotonic clock, the waiter is told which lock it was."""
    start = clock.monotonic()
    lock = atomic.Lock(str(tmp_path / "x.lock"), 3.0, sleep=clock.sleep, monotonic=clock.monotonic)
    with pytest.raises(TimedOut, match=r"x\.lock: locked by another process for 3 s"), lock:
        pass
    assert 3.0 <= clock.monotonic() - start < 3.1


def test_a_lock_is_freed_by_kill_9(tmp_path, holder):
    """The kernel gives back what a dead process held."""
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with atomic.Lock(str(tmp_path / "x.lock"), 0):
        pass


def test_a_lock_excludes_within_one_process_too(tmp_path):
    """Two lock objects on one path are two holders."""
    first, second = (atomic.Lock(str(tmp_path / "x.lock")) for _ in range(2))
    assert [True, False] == [first.try_acquire(), second.try_acquire()]
    first.release()
    assert second.try_acquire()
    second.release()


def test_a_lock_is_given_back_after_a_failure(tmp_path):
    """An exception under the lock does not keep it."""
    path = str(tmp_path / "x.lock")
    with pytest.raises(ZeroDivisionError), atomic.Lock(path):
        raise ZeroDivisionError
    with atomic.Lock(path, 0):
        pass


def test_a_lock_file_stays(tmp_path):
    """Removing it while another waits on it would let two processes hold "the" lock."""
    path = str(tmp_path / "deep" / "x.lock")
    with atomic.Lock(path):
        pass
    assert os.path.exists(path)


def _add(path, lock, times):
    for _ in range(times):
        with atomic.Lock(lock):
            number = int(read(path))
            atomic.write_file(path, b"%d" % (number + 1), sync=False)


def test_work_under_a_lock_is_done_by_one_at_a_time(tmp_path):
    """Four processes that read, add one and write lose nothing."""
    path, lock = str(tmp_path / "n"), str(tmp_path / "x.lock")
    atomic.write_file(path, b"0")
    workers = [FORK.Process(target=_add, args=(path, lock, 50)) for _ in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert b"200" == read(path)
