"""Event lines: their bytes, their rotation, and reading them from the end without reading the rest."""

import json
import os
import tempfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet.formats import events

WALL = 1_796_043_600.1234


def lines_backwards(data, block, limit=None, since=0):
    """What lines_from_end yields for a file of *data* when it reads *block* bytes at a time."""
    with tempfile.NamedTemporaryFile() as f, pytest.MonkeyPatch.context() as patch:
        f.write(data)
        f.flush()
        patch.setattr(events, "BLOCK_BYTES", block)
        return list(events.lines_from_end(f.name, limit, since))


def write(path, *lines):
    with open(path, "ab") as f:
        f.writelines(line + b"\n" for line in lines)


def names(path):
    return [event["event"] for event in events.read_from_end(path)]


def test_an_event_line_has_these_bytes():
    """Version, time to the millisecond, who wrote it, what happened; what is not known is left out."""
    expected = (
        b'{"v":1,"ts":"2026-11-30T13:00:00.123Z","source":"hook","event":"Stop","turn_id":"t1","tail":"\\u00e4\\n"}'
    )
    assert expected == events.line(WALL, "hook", "Stop", {"turn_id": "t1", "model": None, "tail": "ä\n"})


def test_a_field_cannot_pose_as_the_writer():
    """What an engine calls `source` or `event` does not change who wrote the line or what happened."""
    line = json.loads(events.line(WALL, "hook", "SessionStart", {"source": "drain", "event": "Stop", "v": 9, "ts": ""}))
    assert {"v": 1, "ts": "2026-11-30T13:00:00.123Z", "source": "hook", "event": "SessionStart"} == line


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers() | st.lists(st.text())))
def test_an_event_is_one_line(fields):
    """Whatever it says, an event has no line break in it."""
    line = events.line(WALL, "hook", "Stop", fields)
    assert [line] == line.splitlines()
    assert line.isascii()


@given(
    st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"\n\n", b"\r\n", b"abc\n"]), max_size=20).map(b"".join),
    st.integers(1, 9),
)
@example(b"a\n\nb", 1)
@example(b"\n", 1)
@example(b"ab\ncd\n", 3)
def test_lines_from_the_end_are_the_lines_turned_round(data, block):
    """For any file and any size of block: the non-empty lines, last first."""
    assert [line for line in reversed(data.split(b"\n")) if line] == lines_backwards(data, block)


@given(st.lists(st.binary(max_size=3), max_size=12).map(b"\n".join), st.integers(1, 9), st.integers(0, 40))
@example(b"a\nb\nc\nd", 9, 3)
def test_a_limit_gives_the_newest_lines_and_no_part_of_one(data, block, limit):
    """What comes is the end of what would come without a limit, and nothing from before it."""
    whole = [line for line in reversed(data.split(b"\n")) if line]
    found = lines_backwards(data, block, limit)
    assert whole[: len(found)] == found
    fits = [line for line in reversed(data[max(0, len(data) - limit) :].split(b"\n")) if line]
    assert len(fits) - 1 <= len(found) <= len(fits)


@given(
    st.lists(st.binary(max_size=9).map(lambda raw: raw.replace(b"\n", b"")), max_size=12),
    st.integers(0, 140),
    st.integers(1, 9),
)
@example([b"ab", b"cd"], 3, 9)
@example([b"ab", b"cd"], 1, 2)
def test_lines_since_an_offset_are_those_that_begin_there_or_later(lines, since, block):
    """Whatever the size of a block; a file that is shorter than that is another one, and read whole."""
    data = b"".join(line + b"\n" for line in lines)
    begins = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)]
    floor = since if since <= len(data) else 0
    wanted = [line for at, line in zip(begins, lines, strict=False) if at >= floor and line]

    assert wanted[::-1] == lines_backwards(data, block, since=since)


def test_a_last_line_without_its_newline_comes_as_it_is(tmp_path):
    """It may be torn, so its reader decides."""
    assert [b'{"a', b"first"] == lines_backwards(b'first\n{"a', 4)


@pytest.mark.parametrize("make", [lambda p: None, os.mkfifo, os.mkdir, lambda p: open(p, "w").close()])
@pytest.mark.timeout(10)
def test_what_is_no_file_has_no_lines(tmp_path, make):
    """A missing or empty file, a FIFO and a folder all have nothing to say, at once."""
    path = str(tmp_path / "events.jsonl")
    make(path)
    assert [] == list(events.lines_from_end(path))


def test_torn_and_foreign_lines_are_passed_over(tmp_path):
    """A killed writer and another program's line cost no event but their own."""
    path = str(tmp_path / "events.jsonl")
    for name in ("One", "Two"):
        events.append(path, WALL, "hook", name, {})
    write(path, b"", b"null", b"[]", b'{"v":1}', b'{"event":7}', b"\xff\xfe", b"[" * 100_000)
    events.append(path, WALL, "hook", "Three", {})
    with open(path, "ab") as f:
        f.write(b'{"v":1,"ts":"2026')
    assert ["Three", "Two", "One"] == names(path)


def test_a_missing_log_has_no_events(tmp_path):
    """An agent that has reported nothing has an empty past."""
    assert [] == names(str(tmp_path / "events.jsonl"))


def test_a_log_that_grows_too_large_is_rotated_once(tmp_path):
    """The next event opens a new file; reading goes on into the old one; what was there before the old one is gone."""
    path = str(tmp_path / "events.jsonl")
    for number in range(4):  # two of these lines are more than the limit
        events.append(path, WALL, "hook", f"E{number}", {"pad": "x" * 100}, max_bytes=300)
    assert ["events.jsonl", "events.jsonl.1"] == sorted(n for n in os.listdir(tmp_path) if n.startswith("events"))
    assert ["E3", "E2", "E1", "E0"] == names(path)
    events.append(path, WALL, "hook", "E4", {}, max_bytes=300)
    assert ["E4", "E3", "E2"] == names(path)


def test_a_log_that_is_not_too_large_stays(tmp_path):
    """Rotation needs more than the limit."""
    path = str(tmp_path / "events.jsonl")
    for _ in range(3):
        events.append(path, WALL, "hook", "E", {}, max_bytes=10_000)
    assert not os.path.exists(path + ".1")


def test_of_two_that_rotate_at_once_only_one_does(tmp_path, monkeypatch):
    """A hook that measured the log before another rotated it does not put the new file over the old one."""
    path = str(tmp_path / "events.jsonl")
    for number in range(5):
        events.append(path, WALL, "hook", f"E{number}", {"pad": "x" * 100})
    real = os.stat

    def stat_then_lose_the_race(name, **kwargs):
        info = real(name, **kwargs)
        monkeypatch.setattr(os, "stat", real)
        events.append(path, WALL, "hook", "Other", {}, max_bytes=300)
        return info

    monkeypatch.setattr(os, "stat", stat_then_lose_the_race)
    events.append(path, WALL, "hook", "Mine", {}, max_bytes=300)
    assert ["Mine", "Other", "E4", "E3", "E2", "E1", "E0"] == names(path)
