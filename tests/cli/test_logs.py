"""Fleet's own logs: no line lost or torn whoever writes, no secret in them, and `fleet logs`, which follows them."""

import json
import logging
import os
import pathlib
import pty
import subprocess
import sys
import time

import jsonschema
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fleet import log as fleet_log
from fleet.doctor.hook_errors import newest_failure
from fleet.formats import rotation
from fleet.formats.redaction import MARK, Redactor, is_secret_name
from fleet.hooks.entry import log_error
from fleet.operate import log_files
from tests.house.test_house import SCHEMAS

WORD = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=36, max_size=60)
SECRETS = st.one_of(
    WORD.map(lambda w: ("sk-ant-api03-" + w, w)),
    WORD.map(lambda w: ("sk-" + w, w)),
    WORD.map(lambda w: ("ghp_" + w, w)),
    WORD.map(lambda w: ("github_pat_" + w, w)),
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=16, max_size=16).map(lambda w: ("AKIA" + w, w)),
    WORD.map(lambda w: ("Authorization: Bearer " + w, w)),
    WORD.map(lambda w: ("authorization: basic " + w, w)),
    WORD.map(lambda w: (f"https://someone:{w}@host.example/x", w)),
    WORD.map(lambda w: (f"postgres://u:{w}@db/x", w)),
    WORD.map(lambda w: (f"-----BEGIN RSA PRIVATE KEY-----\n{w}\n{w}\n-----END RSA PRIVATE KEY-----", w)),
    WORD.map(lambda w: (f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{w}\\n-----END OPENSSH PRIVATE KEY-----", w)),
    WORD.map(lambda w: (f"SERVICE_API_TOKEN={w}", w)),
    WORD.map(lambda w: (f'{{"client_secret": "{w}"}}', w)),
    WORD.map(lambda w: (f"--password {w}", w)),
    WORD.map(lambda w: (f"Cookie: session={w}; theme=dark", w)),
)
HEX = "0123456789abcdef"
HARMLESS = st.one_of(
    st.text(HEX, min_size=8, max_size=8),
    st.text(HEX, min_size=40, max_size=40),
    st.text(HEX, min_size=64, max_size=64),
    st.uuids().map(str),
    st.lists(st.from_regex(r"[a-z][a-z0-9_-]{0,12}", fullmatch=True), min_size=1, max_size=6).map(lambda p: "/" + "/".join(p)),
    st.from_regex(r"fleet/[a-z]{2,9}-[a-z]{2,9}", fullmatch=True),
    st.from_regex(r"fleet-[0-9a-f]{8}", fullmatch=True),
    st.sampled_from(["ssh://git@github.com/a/b.git", "git@github.com:a/b.git", "https://example.org/a@b", "sk-learn-models",
                     "the bearer of news", "$3 @4 %5", "task-abcdefghijklmnopqrstuvwxyz0123456789", "PATH=/usr/bin:/bin",
                     "max_tokens: 5", "a key press failed", "linux-stat:812345", "2026-11-30T13:00:00.123Z"]),
)  # fmt: skip
NAMES = ["token", "api_key", "apiKey", "X-Api-Key", "AWS_SECRET_ACCESS_KEY", "password", "dbPassword", "client_secret",
         "Authorization", "set-cookie", "credentials", "GITHUB_TOKEN", "private_key"]  # fmt: skip
PLAIN_NAMES = ["id", "agent", "dispatch", "task_id", "pid", "path", "input_tokens_count", "tokenizer", "keyboard", "key_id",
               "monkey", "prompt_id", "conversation_id", "error", "event", "key"]  # fmt: skip


@given(SECRETS, st.sampled_from(["", "said ", "x=1, ", "\n"]), st.sampled_from(["", " and on", "\n", " ."]))
def test_a_secret_of_a_known_shape_never_stays(secret, before, after):
    """Whatever stands around it, nothing of the secret part is left, and it is counted."""
    text, core = secret
    redactor = Redactor()

    found = redactor.text(before + text + after)

    assert core not in found
    assert MARK in found
    assert sum(redactor.counts.values()) >= 1


@given(st.lists(HARMLESS, min_size=1, max_size=5).map(" ".join))
def test_what_is_harmless_stays_as_it_is(text):
    """Ids, hashes of commits, UUIDs, paths, branches and prose pass byte for byte."""
    assert text == Redactor().text(text)


@given(st.text(max_size=300))
@example("-----BEGIN PRIVATE KEY-----")
def test_redacting_twice_changes_nothing_more(text):
    """What was redacted is not redacted again, so a log may be exported."""
    once = Redactor().text(text)
    again = Redactor()

    assert once == again.text(once)


@pytest.mark.parametrize("name", NAMES)
def test_names_that_tell(name):
    """A value under such a name goes whatever it looks like; its shape stays."""
    assert is_secret_name(name)
    assert {name: MARK} == Redactor().value({name: "plain words"})
    assert {name: [MARK, {"a": MARK}, None]} == Redactor().value({name: ["x", {"a": "y"}, None]})


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_names_that_do_not(name):
    """They and their values stay."""
    assert {name: "0123abcd"} == Redactor().value({name: "0123abcd"})


def test_counts_of_tokens_are_no_secrets_and_argv_is_read():
    """`input_tokens: 5` stays; what follows `--token` in a list does not; known texts go anywhere."""
    value = {
        "usage": {"input_tokens": 5, "tokens": 7},
        "command": ["x", "--token", "abcd", "-p", "hi"],
        "t": "a hunter22 b",
    }

    found = Redactor(["hunter22", "short"]).value(value)

    assert {"input_tokens": 5, "tokens": 7} == found["usage"]
    assert ["x", "--token", MARK, "-p", "hi"] == found["command"]
    assert f"a {MARK} b" == found["t"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=20),
                    lambda c: st.lists(c, max_size=3) | st.dictionaries(st.text(max_size=8), c, max_size=3), max_leaves=20))  # fmt: skip
def test_a_value_stays_json_of_the_same_form(value):
    """Objects stay objects with as many names, lists lists of the same length, numbers numbers."""

    def form(one):
        if isinstance(one, dict):
            return sorted((form(v) for v in one.values()), key=repr)
        return [form(v) for v in one] if isinstance(one, list) else type(one)

    found = Redactor().value(value)

    if isinstance(value, dict):
        assume(len(found) == len(value))
    assert form(value) == form(found)


def test_a_logged_secret_never_reaches_the_disk(layout):
    """By name, by shape, and in a traceback."""
    log = fleet_log.open_log(layout, "t")
    try:
        raise ValueError("with ghp_" + "a" * 36)
    except ValueError:
        log.exception("failed", api_key="hunter2hunter2", url="https://u:pw99@h/x", agent="a1b2c3d4", sha="0" * 40)

    text = pathlib.Path(layout.logs, "t.jsonl").read_text()

    assert not any(word in text for word in ("hunter2", "pw99", "ghp_a"))
    assert "a1b2c3d4" in text
    assert "0" * 40 in text
    assert "ValueError" in text


WRITER = """
import sys
from fleet import log
from fleet.formats.layout import Layout
log.MAX_BYTES, log.KEPT_FILES = int(sys.argv[3]), 60
one = log.open_log(Layout(sys.argv[1]), "drain")
for n in range(int(sys.argv[4])):
    one.info("line", who=int(sys.argv[2]), n=n, fill="ä" * (n % 90))
"""


def writers(home, count, lines, size):
    return [subprocess.Popen([sys.executable, "-c", WRITER, home, str(w), str(size), str(lines)]) for w in range(count)]


def test_no_line_is_lost_or_torn_while_several_write_and_rotate(layout):
    """Every line of four writers is there exactly once over all files, and a reader that follows meanwhile gets each
    once, in each writer's order."""
    running = writers(layout.home, 4, 150, 9000)
    tail = log_files.Tail(os.path.join(layout.logs, "drain.jsonl"))
    followed = []
    while any(p.poll() is None for p in running):
        followed += tail.read()
    followed += tail.read()
    tail.close()

    raw = []
    for name in os.listdir(layout.logs):
        if not name.endswith(".lock"):
            raw += pathlib.Path(layout.logs, name).read_bytes().splitlines()
    wanted = sorted((w, n) for w in range(4) for n in range(150))
    assert [0] * 4 == [p.returncode for p in running]
    assert wanted == sorted((d["who"], d["n"]) for d in map(json.loads, raw))
    assert len(os.listdir(layout.logs)) > 5
    for who in range(4):
        assert list(range(150)) == [d["n"] for d in followed if d["who"] == who]


def test_the_number_of_files_is_bounded(layout, monkeypatch):
    """However much is written."""
    monkeypatch.setattr(fleet_log, "MAX_BYTES", 2000)
    log = fleet_log.open_log(layout, "t")
    for n in range(300):
        log.info("x", n=n)

    files = [n for n in os.listdir(layout.logs) if not n.endswith(".lock")]

    assert fleet_log.KEPT_FILES + 1 == len(files)
    assert all(os.path.getsize(os.path.join(layout.logs, n)) <= 2000 for n in files)
    assert all(os.stat(os.path.join(layout.logs, n)).st_mode & 0o077 == 0 for n in files)


def test_what_a_killed_writer_left_spoils_no_line(layout):
    """A torn end gets its newline first."""
    path = os.path.join(layout.logs, "t.jsonl")
    with open(path, "w") as f:
        f.write('{"event": "to')

    fleet_log.open_log(layout, "t").info("after")

    assert ["after"] == [line["event"] for line in lines_of(path)]


def test_a_log_that_cannot_be_written_stops_nobody(layout, capsys):
    """The line is lost, without a word on stderr."""
    log = fleet_log.open_log(layout, "t")
    os.mkdir(os.path.join(layout.logs, "t.jsonl"))

    log.info("x")

    assert ("", "") == capsys.readouterr()


@pytest.fixture
def logged(bare):
    """A home with a log over two files, another log, and a hook that failed."""
    logs = bare.home / "logs"
    logs.mkdir(parents=True, mode=0o700)
    agent = {"schema_version": 1, "id": "a1b2c3d4", "task_id": "fix", "dispatch_id": "0f1e2d3c", "engine": "fake"}
    (bare.home / "agents").mkdir()
    (bare.home / "agents" / "a1b2c3d4.json").write_text(json.dumps(agent))

    def line(stamp, event, **more):
        return json.dumps({"timestamp": f"2026-11-30T{stamp}Z", "level": "info", "event": event, **more}) + "\n"

    (logs / "drain.jsonl.1").write_text(line("10:00:00", "first"))
    (logs / "drain.jsonl").write_text(
        line("12:00:00", "third", agent="a1b2c3d4") + "torn {\n" + line("14:00:00", "fifth", level="warning")
    )
    (logs / "keys.jsonl").write_text(line("11:00:00", "second", dispatch="0f1e2d3c"))
    (logs / "hook-errors.log").write_text(
        "2026-11-30T13:00:00Z a1b2c3d4 on_event.py Stop\nTraceback (most recent call last):\nValueError: no\n"
    )
    return bare


def lines_of(path):
    tail = log_files.Tail(path)
    try:
        return list(tail.read())
    finally:
        tail.close()


def shown(logged, *argv):
    code, out, err = logged("logs", *argv)
    assert 0 == code, err
    return [json.loads(line) for line in out.splitlines()]


def events(lines):
    return [line["event"] for line in lines]


def test_all_logs_are_one_stream_in_order(logged):
    """Rotated files, several logs and failed hooks; each line as its schema says."""
    schema = json.loads(next(p for p in SCHEMAS if p.stem == "log-line").read_text())

    lines = shown(logged)

    assert ["first", "second", "third", "hook failed", "fifth"] == events(lines)
    assert "ValueError: no" in lines[3]["exception"]
    for line in lines:
        jsonschema.Draft202012Validator(schema).validate(line)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("-n", "2"), ["hook failed", "fifth"]),
        (("--level", "warning"), ["hook failed", "fifth"]),
        (("--level", "critical"), []),
        (("--agent", "fix"), ["second", "third", "hook failed"]),
        (("--agent", "a1b2"), ["second", "third", "hook failed"]),
        (("--since", "2026-11-30T13:00:00Z"), ["hook failed", "fifth"]),
        (("--since", "2026-11-30"), ["first", "second", "third", "hook failed", "fifth"]),
        (("--since", "2020w"), ["first", "second", "third", "hook failed", "fifth"]),
    ],
)
def test_what_is_asked_for(logged, argv, expected):
    """Filters by level, agent and time, and the last few."""
    assert expected == events(shown(logged, *argv))


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (("-n", "0"), 2, "at least 1"),
        (("-n", "x"), 2, "x"),
        (("--level", "loud"), 2, "loud"),
        (("--since", "soon"), 2, "no time"),
        (("--since", ""), 2, "no time"),
        (("--agent", "nobody"), 4, "nobody"),
        (("extra",), 2, "extra"),
    ],
)
def test_wrong_input(bare, argv, code, word):
    """One line that names it."""
    found, _, err = bare("logs", *argv)

    assert (code, True) == (found, word in err)
    assert not bare.home.exists()


def test_on_a_terminal_lines_are_readable_and_follow_goes_on(logged, tmp_path):
    """Time, level in colour, log and event; a line that is written later comes too, also behind a rotation."""
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "FLEET_HOME": str(logged.home)}
    process = subprocess.Popen([sys.executable, "-m", "fleet", "logs", "-f"], stdout=slave, stderr=slave, env=env)
    os.close(slave)
    text = b""

    def until(word):
        nonlocal text
        end = time.monotonic() + 20
        while word not in text:
            assert time.monotonic() < end, text
            text += os.read(master, 4096)

    try:
        until(b"fifth")
        os.rename(logged.home / "logs" / "drain.jsonl.1", logged.home / "logs" / "drain.jsonl.2")
        os.rename(logged.home / "logs" / "drain.jsonl", logged.home / "logs" / "drain.jsonl.1")
        with open(logged.home / "logs" / "drain.jsonl", "w") as f:
            f.write('{"timestamp": "2026-11-30T15:00:00Z", "level": "error", "event": "sixth\\u001b[2J", "x": "y z"}\n')
        until(b"sixth")
        until(b"y z")
    finally:
        process.terminate()
        process.wait()
        os.close(master)

    assert b"2026-11-30T10:00:00  info      drain: first" in text.replace(b"\r\n", b"\n")
    assert b"\x1b[31merror   \x1b[0m" in text
    assert 1 == text.count(b"fifth")
    assert b"\x1b[2J" not in text


def test_a_failing_hook_writes_no_secret(layout):
    """Its error goes through the same rules."""
    log_error(layout, ["on_event.py"], "a1b2c3d4", ValueError("ghp_" + "b" * 36))

    text = pathlib.Path(layout.logs, "hook-errors.log").read_text()
    assert "ghp_b" not in text
    (line,) = lines_of(os.path.join(layout.logs, "hook-errors.log"))
    assert ("a1b2c3d4", "error") == (line["agent"], line["level"])


@pytest.fixture(autouse=True)
def no_loggers_left():
    """The next test gets files of its own."""
    yield
    for name in ("fleet.t", "fleet.drain"):
        logging.getLogger(name).handlers[:] = []


def test_the_log_of_failed_hooks_is_bounded(layout, monkeypatch):
    """By the size and number of files of the other logs; the newest are kept, and `fleet logs` reads them all."""
    monkeypatch.setattr(rotation, "MAX_BYTES", 300)
    for number in range(40):
        log_error(layout, ["claude-code", "Stop"], "a1b2c3d4", ValueError(f"failure {number:02}"))

    files = sorted(p.name for p in pathlib.Path(layout.logs).glob("hook-errors.log*"))
    assert ["hook-errors.log", *(f"hook-errors.log.{n}" for n in (1, 2, 3)), "hook-errors.log.lock"] == files
    assert all((pathlib.Path(layout.logs) / name).stat().st_size <= 300 for name in files)
    tail = log_files.Tail(str(pathlib.Path(layout.logs) / "hook-errors.log"))
    kept = [line["exception"][-10:] for line in tail.read()]
    tail.close()
    assert [f"failure {n:02}" for n in range(40 - len(kept), 40)] == kept


def test_a_rotation_that_was_cut_short_is_gone_on_with(layout, monkeypatch):
    """The newest failure is still told, and the next one is written."""
    log_error(layout, ["claude-code", "Stop"], "a1b2c3d4", ValueError("before"))
    path = pathlib.Path(layout.logs) / "hook-errors.log"
    path.rename(f"{path}.1")
    assert "before" in newest_failure(layout)

    log_error(layout, ["claude-code", "Stop"], "a1b2c3d4", ValueError("after"))

    assert "after" in newest_failure(layout)
    assert path.with_name("hook-errors.log.1").exists()
