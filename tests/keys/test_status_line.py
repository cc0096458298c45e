"""The segment: true as far as files tell, stale where they tell more, and never wider or wilder than allowed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.formats import segment, status
from fleet.formats.layout import Layout
from tests.keys.conftest import Desk

ROOT = Path(__file__).parents[2]
NOTHING = {
    **dict.fromkeys(status.COUNTED, 0),
    "agents": 1,
    "for_you": 0,
    "over": 0,
    "dead": 0,
    "next": "",
    "stale": False,
}


@pytest.fixture
def own():
    desk = Desk()
    yield desk
    desk.close()


def cheap(desk):
    """What tmux would get, from the bare interpreter."""
    done = subprocess.run([sys.executable, "-I", "-S", str(ROOT / "hooks" / "tmux_segment.py"), str(desk.fleet_home)], env=desk.env,
                          capture_output=True, timeout=20)  # fmt: skip
    assert (0, b"") == (done.returncode, done.stderr)
    return done.stdout.decode()


def test_it_counts_as_list_does(own):
    """After a refresh, with every state, a context over the threshold, and a dead letter."""
    own.agent_of("a", state="waiting", context=10.0)
    own.agent_of("b", state="working", context=50.0)
    own.agent_of("c", state="working", context=49.9)
    gone = own.agent_of("d", state="idle")
    dead = own.agent_of("e", state="idle")
    own.tmux("kill-session", "-t", gone["tmux_session"])
    own.until(lambda: own.agent("d")["state"] == "gone", "d is gone")
    folder = own.fleet_home / "queue" / "dead"
    (folder / f"spawn-fresh-{dead['id']}.json").write_text("{}")

    counts = own.json("status-line", "--refresh")

    states = [a["state"] for a in own.json("list")]
    assert {turn: states.count(turn) for turn in status.COUNTED} == {turn: counts[turn] for turn in status.COUNTED}
    assert (5, 2, 1, 1, False) == tuple(counts[k] for k in ("agents", "waiting", "over", "dead", "stale"))
    assert (
        "#[fg=yellow,bold]2 waiting#[default] 2 working #[fg=red]1 over#[default] #[fg=red,bold]1 given up#[default]\n"
        == cheap(own)
    )


def test_what_changed_since_is_stale_and_mends_itself(own):
    """An event that nobody has judged yet: the line says so, and the next one is right."""
    agent = own.agent_of("a", state="working")
    own.fleet("status-line", "--refresh")
    assert "1 working\n" == cheap(own)
    time.sleep(0.02)

    from fleet.formats import events

    events.append(
        str(own.fleet_home / "events" / f"{agent['id']}.jsonl"),
        time.time(),
        "hook",
        "StopFailure",
        {"error": "rate_limit"},
    )

    assert "1 working ~\n" == cheap(own)
    own.until(lambda: "1 waiting" in cheap(own) and "~" not in cheap(own), "the next one is right")


@pytest.mark.parametrize("change", ["new agent", "stopped agent", "settings", "old", "no summary", "torn summary"])
def test_every_way_to_be_stale(own, change):
    """Each shows, and none lies."""
    agent = own.agent_of("a", state="working")
    own.fleet("status-line", "--refresh")
    summary = own.fleet_home / "run" / "status.json"
    (own.fleet_home / "run" / "status.refreshed").touch()  # so that none is started behind this test's back
    match change:
        case "new agent":
            record = own.fleet_home / "agents" / f"{agent['id']}.json"
            (record.parent / "aaaa0000.json").write_text(record.read_text().replace(agent["id"], "aaaa0000"))
        case "stopped agent":
            own.agent_of("b", state="working")
            own.fleet("status-line", "--refresh")
            own.fleet("stop", "b")
            counts = own.json("status-line")
            assert (1, 1) == (counts["agents"], counts["working"])
            return
        case "settings":
            own.config("thresholds: {yellow_pct: 10}\n")
        case "old":
            data = json.loads(summary.read_text())
            summary.write_text(json.dumps({**data, "at": data["at"] - status.FRESH_SECONDS - 1}))
        case "no summary":
            summary.unlink()
        case "torn summary":
            summary.write_text(summary.read_text()[:50])
    assert "~" in cheap(own)
    assert own.json("status-line")["stale"]


def test_without_agents_it_says_nothing(own):
    """And starts nothing."""
    assert "\n" == cheap(own)
    assert not (own.fleet_home / "run" / "status.refreshed").exists()


def test_the_drain_keeps_it(own):
    """While a drain runs, an event is in the summary a moment later, without a refresh."""
    own.fleet("drain", "--detach")
    agent = own.dispatch("live", "x\nSTUB: say=ok")
    own.until(lambda: (own.fleet_home / "run" / "status.json").exists() and own.json("status-line")["idle"] == 1
              and not own.json("status-line")["stale"], "idle, and fresh")  # fmt: skip
    note = own.fleet_home / "run" / "status.refreshed"
    note.touch()
    before = note.stat().st_mtime_ns

    from fleet.formats import events

    events.append(
        str(own.fleet_home / "events" / f"{agent['id']}.jsonl"),
        time.time(),
        "hook",
        "StopFailure",
        {"error": "rate_limit"},
    )
    own.until(
        lambda: (data := status.read(Layout(str(own.fleet_home)))) and data["agents"][agent["id"]]["turn"] == "waiting",
        "judged",
        5,
    )
    assert before == note.stat().st_mtime_ns


def test_in_a_real_status_line(desk):
    """tmux runs the printed line and shows the words, without the styles' text."""
    desk.agent_of("a", state="waiting")
    desk.fleet("status-line", "--refresh")
    printed = desk.root / "printed.conf"
    printed.write_text(desk.fleet("keys", "print"))
    terminal = desk.sit()
    desk.tmux("set-option", "-g", "status-right-length", "100", ";", "set-option", "-g", "status-interval", "1")

    desk.tmux("source-file", str(printed))

    screen = terminal.shows("1 waiting")
    assert "#[" not in screen
    assert "fg=" not in screen


def test_words_and_width_are_settings(own):
    """And a mistake in them is refused by name."""
    own.config('status_line: {format: "<{waiting}{idle}>", waiting: "{n}:{next}", width: 9}\n')
    own.agent_of("a-long-name", state="waiting")
    own.fleet("status-line", "--refresh")

    assert "<1:a-long\n" == own.fleet("status-line")
    assert "1\n" == own.fleet("status-line", "--format", "{waiting}", "--width", "1")
    own.config("status_line: {formt: x}\n")
    assert b"did you mean" in own.run("status-line", "--refresh").stderr


@pytest.mark.parametrize(
    "words",
    [["--width", "0"], ["--width", "x"], ["--width", "501"], ["--format", "{wating}"], ["more"], ["--fmt", "x"]],
)
def test_wrong_words_change_nothing(own, words):
    """One line, status 2."""
    done = own.run("status-line", *words)

    assert (2, b"") == (done.returncode, done.stdout)
    assert 2 >= len(done.stderr.splitlines())
    assert not list(own.fleet_home.rglob("status.json"))


@given(st.text(), st.integers(1, 80))
def test_no_line_is_wider_than_allowed(text, width):
    """Whatever the words are: one line, no control character, no more columns than allowed."""
    line = segment.cut(segment.plain(text), width)

    assert sum(segment.columns(c) for c in line.replace("##", "x")) <= width
    assert line.isprintable()


@given(st.text())
def test_data_is_never_interpreted(task):
    """A task's name cannot style, look up or run anything: every # in it is doubled."""
    line = segment.render(
        {**NOTHING, "for_you": 1, "next": task}, {"waiting": "{n} {next}", "width": 500, "format": "{waiting}"}
    )

    assert "#" not in line.replace("##", "")


@given(
    st.dictionaries(
        st.sampled_from([*segment.DEFAULT_THEME, "other"]), st.none() | st.integers() | st.text() | st.booleans()
    )
)
def test_no_theme_breaks_it(theme):
    """Values of another type are the defaults."""
    assert "\n" not in segment.render({**NOTHING, "for_you": 3, "stale": True}, theme)


def test_styles_take_no_room_and_are_closed():
    """A cut in the middle of a style's words ends the style."""
    assert "#[fg=red]ab#[default]" == segment.cut("#[fg=red]abcd#[default]", 2)
    assert "ab##c" == segment.cut("ab##cd", 4)


def test_it_loads_what_a_hook_loads():
    """Nothing heavy: the modules are those of the standard library that `json` brings along, and formats."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import fleet.status_line; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT)], capture_output=True, text=True, check=True
    )
    heavy = {
        "argparse",
        "dataclasses",
        "subprocess",
        "typing",
        "pathlib",
        "logging",
        "yaml",
        "inspect",
        "tempfile",
        "shutil",
    }

    assert not heavy & set(done.stdout.split())
