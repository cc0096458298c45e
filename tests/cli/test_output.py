"""What a person sees: tables that fit, colour where it belongs, and no locale that breaks anything."""

import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import fcntl
import termios
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.cli import output, width

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def several(write_record, layout):
    """Two agents, one with a long task name; no tmux server."""
    write_record(id="a1b2c3d4", task_id="fix-the-login-of-all-browsers-on-all-platforms", dispatch_id="0f1e2d3c")
    write_record(
        id="a1b2c3d5", task_id="名前の長い仕事をするエージェントのための課題", dispatch_id="0f1e2d3d", project="店"
    )
    return layout


def on_a_terminal(layout, columns, *argv, **env):
    """What `fleet ARGV` prints on a pseudo-terminal of that width, and its exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    whole = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "FLEET_HOME": layout.home,
             "FLEET_TMUX_SOCKET": layout.home + "/no", **env}  # fmt: skip
    whole.pop("LC_ALL", None) if "LC_ALL" not in env else None
    process = subprocess.Popen(
        [sys.executable, "-m", "fleet", *argv], stdin=slave, stdout=slave, stderr=slave, env=whole
    )
    os.close(slave)
    data = b""
    while True:
        if not select.select([master], [], [], 20)[0]:
            break
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        data += part
    os.close(master)
    return process.wait(timeout=20), data.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_list_fits_the_terminal(several, columns):
    """No line is wider than the terminal; id and the whole state are there; the task gives way first."""
    code, text = on_a_terminal(several, columns, "list")
    lines = ESCAPE.sub("", text).splitlines()

    assert (0, 3) == (code, len(lines)), text
    assert all(width.columns(line) <= columns for line in lines)
    assert all("gone" in line for line in lines[1:])
    assert lines[1].startswith("a1b2c3d4")
    assert "STATE" in lines[0]
    assert (columns == 200) == ("fix-the-login-of-all-browsers-on-all-platforms" in text)
    assert (columns > 40) or "CPU" not in lines[0]
    at = [width.columns(line[: line.index(word)]) for line, word in zip(lines, ("STATE", "gone", "gone"))]
    assert 1 == len(set(at))


def test_a_pipe_gets_everything_and_no_colour(several):
    """Whatever COLUMNS says."""
    done = subprocess.run([sys.executable, "-m", "fleet", "list"], capture_output=True, text=True,
                          env={**os.environ, "FLEET_HOME": several.home, "FLEET_TMUX_SOCKET": several.home + "/no",
                               "COLUMNS": "20", "TERM": "xterm", "LANG": "C.UTF-8"})  # fmt: skip

    assert "fix-the-login-of-all-browsers-on-all-platforms" in done.stdout
    assert "CPU" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": ""}, False),
    ],
)
def test_colour(several, env, coloured):
    """On a terminal, unless NO_COLOR or TERM=dumb says otherwise."""
    _, text = on_a_terminal(several, 200, "list", **env)

    assert coloured == ("\x1b[31mgone" in text)
    assert coloured == ("\x1b" in text)


@pytest.mark.parametrize("columns", [30, 60, 100])
@pytest.mark.parametrize("command", ["show", "events"])
def test_long_values_fit_the_terminal(several, columns, command):
    """No line is longer than the terminal, and not one character of a value is lost."""
    long = "words and /a/path/that/is/longer/than/any/of/the/narrow/terminals/and/goes/on/and/on 名前の長い仕事"
    with open(os.path.join(several.events, "a1b2c3d4.jsonl"), "w", encoding="utf-8") as f:
        f.write(
            json.dumps({"v": 1, "ts": "2026-11-30T13:00:00Z", "source": "hook", "event": "Stop", "tail": long}) + "\n"
        )
    path = several.record("a1b2c3d4")
    with open(path, encoding="utf-8") as f:
        record = json.load(f)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({**record, "cwd": long}, f)

    code, out = on_a_terminal(several, columns, command, "a1b2c3d4")

    lines = ESCAPE.sub("", out).replace("\r", "").split("\n")
    assert 0 == code
    assert [] == [line for line in lines if width.columns(line) > columns]
    assert "".join(long.split()) in "".join("".join(lines).split())


@given(st.text("ab 名", max_size=60), st.integers(2, 20))
def test_wrapping_keeps_to_its_room_and_loses_nothing(text, room):
    """But blanks at the ends of lines."""
    lines = width.wrap(text, room)
    assert all(width.columns(line) <= room for line in lines)
    assert "".join(text.split()) == "".join("".join(lines).split())


@given(st.text(max_size=40), st.integers(0, 30))
def test_cut_and_pad_keep_to_their_room(text, room):
    """Also with wide and combining characters; a text that fits stays as it is."""
    found = width.cut(text, room)

    assert width.columns(found) <= room
    assert found == text or width.columns(text) > room
    assert room == width.columns(width.pad(found, room))


@given(st.lists(st.integers(1, 60), min_size=2, max_size=9), st.integers(20, 220))
def test_what_fits_is_not_cut(wanted, limit):
    """Nothing changes where there is room; else columns shrink, and are left out in their order."""
    fitted = width.fit(wanted, limit, [1], [0], least=8)

    if sum(wanted) + 2 * (len(wanted) - 1) <= limit:
        assert wanted == fitted
    assert all(a <= b for a, b in zip(fitted, wanted))
    assert fitted[0] in (0, wanted[0])


@pytest.fixture(scope="module")
def latin(tmp_path_factory):
    """The environment of a latin-1 locale, made for this test by localedef."""
    folder = tmp_path_factory.mktemp("locales")
    subprocess.run(["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(folder / "en_US.ISO-8859-1")],
                   capture_output=True, check=False)  # fmt: skip
    assert (folder / "en_US.ISO-8859-1").is_dir(), "localedef could not make a latin-1 locale"
    return {"LOCPATH": str(folder), "LC_ALL": "en_US.ISO-8859-1"}


LOCALES = {"C": {"LANG": "C"}, "POSIX": {"LC_ALL": "POSIX"},
           "strict C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "latin-1": None}  # fmt: skip


@pytest.fixture(params=LOCALES)
def foreign(request):
    """An environment without UTF-8."""
    if request.param == "latin-1" and shutil.which("localedef") is None:
        pytest.skip("no localedef here")
    own = LOCALES[request.param] or request.getfixturevalue("latin")
    return {k: v for k, v in os.environ.items() if k not in ("LANG", "LC_ALL", "LC_CTYPE")} | own


def test_other_locales_break_nothing(several, foreign):
    """Text comes with replacement characters where it must, JSON without a loss; never a traceback."""
    import json

    env = foreign | {"FLEET_HOME": several.home, "FLEET_TMUX_SOCKET": several.home + "/no"}

    for argv in (["list"], ["show", "a1b2c3d5"], ["--help"], ["show", os.fsdecode(b"\xff\xfe")]):
        done = subprocess.run([sys.executable, "-m", "fleet", *argv], capture_output=True, env=env)
        assert b"Traceback" not in done.stderr and b"a bug" not in done.stderr, (argv, done.stderr)
        assert done.returncode in (0, 4)
    found = json.loads(
        subprocess.run([sys.executable, "-m", "fleet", "list", "--json"], capture_output=True, env=env).stdout
    )

    assert {"店", "default"} == {one["project"] for one in found}
    argv = [one.encode() for one in (sys.executable, "-m", "fleet", "list", "--json", "--project", "店")]
    named = json.loads(subprocess.run(argv, capture_output=True, env=env).stdout or "[]")
    assert ["a1b2c3d5"] == [one["id"] for one in named]


def test_arguments_survive_byte_for_byte(world, foreign):
    """A prompt of any bytes arrives as it was typed."""
    given = b"gr\xc3\xbc\xc3\x9fe \xe5\x90\x8d caf\xe9 \xff"
    env = world.env | {
        k: v for k, v in foreign.items() if k in ("LANG", "LC_ALL", "LOCPATH", "PYTHONUTF8", "PYTHONCOERCECLOCALE")
    }

    done = subprocess.run([sys.executable.encode(), b"-m", b"fleet", b"dispatch", b"bytes", b"--engine", b"fake", b"--wait",
                           b"started", b"--prompt", given], env=env, cwd=world.project, capture_output=True)  # fmt: skip

    assert 0 == done.returncode, done.stderr
    (task,) = (world.fleet_home / "tasks").iterdir()
    assert given == task.read_bytes().rstrip(b"\n")


def test_what_takes_long_is_said_once_and_what_does_not_is_not(capsys, monkeypatch):
    """One line on stderr while it goes on, and none of what was over before."""
    said = threading.Event()
    monkeypatch.setattr(output, "say", lambda text, say=output.say: (say(text), said.set()))
    with output.when_slow("saving", 0.001):
        assert said.wait(10)
    with output.when_slow("quick", 600):
        pass

    assert ("", "fleet: saving\n") == tuple(capsys.readouterr())
