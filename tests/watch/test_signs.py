"""What is gathered of an agent: from real folders and repositories, a log, and two looks at the processes."""

import json
import os
from types import SimpleNamespace

import pytest

from fleet.errors import Unreachable
from fleet.model.screen import Screen
from fleet.store import screens
from fleet.formats.states import Existence, Turn
from fleet.formats.times import rfc3339_ms
from fleet.git import freshness
from fleet.model.agent import from_record
from fleet.model.judge import judge
from fleet.model.state import Facts
from fleet.model.liveness import Sign, Verdict
from fleet.observe.facts import Sight
from fleet.observe.signs import Gatherer
from fleet.process.table import Process, ProcessTable
from tests.watch.test_rescue import git

NOW = 1_796_043_600.0


class Bench:
    """A gatherer whose looks and processes the test decides."""

    def __init__(self, layout, record):
        self.layout, self.record = layout, record
        self.events = [{"source": "hook", "event": "UserPromptSubmit", "ts": rfc3339_ms(NOW - 5000)}]
        self.tables = [0.0, 0.0]  #: CPU seconds of what the engine started, at each look; None: no look
        self.spinner = 500.0  #: CPU seconds of the engine itself
        self.now = NOW
        self.slept = []

    def looker(self):
        used = self.tables[0] if len(self.tables) == 1 else self.tables.pop(0)
        self.spinner += 100.0
        engine = Process(10, 1, 10, "s", "claude", False, self.spinner, 0)
        tool = Process(11, 10, 11, "t", "make", False, used or 0.0, 0)

        def table():
            if used is None:
                raise Unreachable("cannot read /proc")
            return ProcessTable([engine, tool])

        def see(agent):
            facts = Facts(pane=Existence.ALIVE, running=True, events=self.events)
            return Sight(agent, facts, judge(facts), None)

        return SimpleNamespace(table=table, see=see)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def agent(self, cwd, **more):
        spawned = {"spawned_at": "2026-11-30T09:00:00Z", "pid": 10, "pid_start": "s", "engine": "fake"}
        return from_record({**self.record(**spawned, cwd=str(cwd), **more), "conversation_id": None,
                            "transcript_path": more.get("transcript_path")})  # fmt: skip

    def gather(self, *agents, everybody=(), scanned=True, **more):
        """Look; their screens have been scanned all the time, and stood still."""
        if scanned:
            still = {
                a.id: Screen(self.now, changed_at=NOW - 6000, pane_id=a.pane_id, server_pid=a.server_pid)
                for a in agents
            }
            screens.write(self.layout, still, NOW)
        made = Gatherer(self.layout, os.environ, self.looker, lambda: self.now, self.sleep)
        return made.gather(agents, stale_seconds=1200, everybody=[*agents, *everybody], **more)


@pytest.fixture
def bench(layout, agent_record):
    return Bench(layout, agent_record)


@pytest.fixture
def repo(tmp_path):
    """A repository with one old commit and `built` ignored."""
    folder = tmp_path / "p"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("built\n")
    (folder / "a").write_text("a\n")
    git(folder, "add", "--all")
    os.environ["GIT_COMMITTER_DATE"] = f"{int(NOW) - 7000} +0000"
    try:
        git(folder, "commit", "-qm", "c")
    finally:
        del os.environ["GIT_COMMITTER_DATE"]
    return folder


def touch(path, age):
    path.parent.mkdir(exist_ok=True)
    path.write_text("new\n")
    os.utime(path, (NOW - age, NOW - age))


def test_an_agent_without_any_recent_sign_is_stalled(bench, repo):
    """All was measured: hook and commit are old, nothing was written, what it runs stood still between two looks."""
    (found,) = bench.gather(bench.agent(repo))

    assert (Verdict.STALLED, [1.0]) == (found.liveness.verdict, bench.slept)
    assert NOW - 7000 == found.readings[Sign.COMMIT].at == found.progress_at


def test_a_write_is_a_sign_unless_git_ignores_it(bench, repo):
    """In a changed or a new file; not in what is ignored, and not when it is dated in the future."""
    agent = bench.agent(repo / ".")
    touch(repo / "built" / "x", 5)
    touch(repo / "future", -9000)
    assert Verdict.STALLED == bench.gather(agent)[0].liveness.verdict
    touch(repo / "sub" / "new", 60)

    (found,) = bench.gather(agent)

    assert (Verdict.FRESH, Sign.FILES) == (found.liveness.verdict, found.liveness.sign)


def test_a_walk_that_is_cut_short_measures_nothing(bench, repo, monkeypatch):
    """Unknown, with the reason, unless what was seen is new enough."""
    monkeypatch.setattr(freshness, "WALK_ENTRIES", 3)
    for number in range(5):
        touch(repo / f"f{number}", 5000)

    (found,) = bench.gather(bench.agent(repo))

    assert (Verdict.UNKNOWN, True) == (found.liveness.verdict, found.readings[Sign.FILES].floored)
    assert "more files" in found.liveness.why


def test_in_a_shared_tree_writes_are_nobodys(bench, repo):
    """Another dispatch in the same tree: its commits and files neither keep this agent fresh nor make it unknown."""
    touch(repo / "theirs", 5)
    mate = bench.agent(repo, id="b2c3d4e5", dispatch_id="b2c3d4e5")

    (found,) = bench.gather(bench.agent(repo), everybody=[mate])

    assert (Verdict.STALLED, False) == (found.liveness.verdict, found.readings[Sign.FILES].counts)
    assert "b2c3d4e5" in found.readings[Sign.FILES].note


@pytest.mark.parametrize(("tables", "verdict"), [([7.0, 7.2], "fresh"), ([7.0, 7.01], "stalled"), ([7.0, 0.0], "fresh"),
                                                 ([None, None], "unknown")])  # fmt: skip
def test_what_the_engine_runs_shows_life_by_its_cpu(bench, repo, tables, verdict):
    """More than a twentieth of a core, or that something ended; the engine's own time does not count."""
    bench.tables = tables

    assert verdict == bench.gather(bench.agent(repo))[0].liveness.verdict


def test_an_earlier_look_saves_the_pause(bench, repo):
    """What was remembered of the last look is compared with; nobody waits."""
    first = bench.gather(bench.agent(repo))[0].cpu
    bench.slept, bench.now = [], NOW + 300

    (found,) = bench.gather(bench.agent(repo), before={"a1b2c3d4": first})

    assert ([], Verdict.STALLED) == (bench.slept, found.liveness.verdict)


def test_a_folder_in_no_repository_and_one_that_is_gone(bench, tmp_path):
    """Without git everything in the folder counts; a folder that is not there measures nothing."""
    touch(tmp_path / "plain" / "file", 30)
    os.utime(tmp_path / "plain", (NOW - 9000, NOW - 9000))

    assert Verdict.FRESH == bench.gather(bench.agent(tmp_path / "plain"))[0].liveness.verdict
    assert Verdict.UNKNOWN == bench.gather(bench.agent(tmp_path / "gone"))[0].liveness.verdict


def test_a_subagents_log_is_the_agents(bench, repo, tmp_path):
    """It has a file of its own, below the log's name."""
    log = tmp_path / "log.jsonl"
    touch(log, 5000)
    touch(tmp_path / "log" / "x", 5000)
    touch(tmp_path / "log" / "subagents" / "agent-1.jsonl", 9)

    (found,) = bench.gather(bench.agent(repo, transcript_path=str(log)))

    assert (Verdict.FRESH, Sign.TRANSCRIPT) == (found.liveness.verdict, found.liveness.sign)


def test_a_screen_counts_for_the_pane_that_it_is_of(bench, repo):
    """What the scanner saw of another pane, or some time ago, tells nothing: not even that nothing moves."""
    agent = bench.agent(repo)
    for pane, looked, changed, verdict in (
        ("%3", 5, 20, "fresh"), ("%3", 5, 1203, "fresh"), ("%3", 5, 1206, "stalled"), ("%3", 5, 6000, "stalled"),
        ("%9", 5, 6000, "unknown"), ("%3", 60, 6000, "unknown"),
    ):  # fmt: skip
        screen = Screen(NOW - looked, changed_at=NOW - changed, pane_id=pane, server_pid=4000)
        screens.write(bench.layout, {agent.id: screen}, NOW)
        bench.now = NOW
        assert verdict == bench.gather(agent, scanned=False)[0].liveness.verdict


def test_without_a_scanner_nothing_is_stalled(bench, repo):
    """An answer that streams shows on the screen alone; the words say what would look at it."""
    (found,) = bench.gather(bench.agent(repo), scanned=False)

    assert Verdict.UNKNOWN == found.liveness.verdict
    assert "fleet drain --detach" in found.liveness.why


def test_the_same_command_failing_is_counted_from_the_log(bench, repo, tmp_path):
    """By what the command is, not by what the model calls it; a pass in between starts anew."""
    log = tmp_path / "log.jsonl"
    lines = []
    for number, (command, failed) in enumerate([("make", True), ("make", False), ("make", True), ("ls", True),
                                                ("make", True), ("make", True)]):  # fmt: skip
        use = {
            "type": "tool_use",
            "id": f"c{number}",
            "name": "Bash",
            "input": {"command": command, "description": str(number)},
        }
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "x", "is_error": failed}
        lines.append({"type": "assistant", "message": {"model": "m", "content": [use]}})
        lines.append({"type": "user", "message": {"content": [result]}, "timestamp": rfc3339_ms(NOW - 500 + number)})
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(log, (NOW - 3, NOW - 3))

    (found,) = bench.gather(bench.agent(repo, transcript_path=str(log)))

    assert (Turn.WORKING, 3, "make") == (found.sight.state.turn, found.failures, found.command)
