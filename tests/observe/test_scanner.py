"""The pane scanner on real tmux: captures what moved, tells what it shows, and never takes "could not look" for "gone"."""

import os
import shutil
import signal
import tempfile

import pytest

from fleet.clock import SystemClock, wait_until
from fleet.engines.rules import Rules
from fleet.model.agent import Agent
from fleet.observe.scanner import Scanner
from fleet.tmux.client import Tmux
from fleet.tmux.batch import Batch
from tests.tmux.conftest import VERSIONS

CLOCK = SystemClock()
RULES = Rules("fake", {
    "composer": {"first": "^>", "below": 0}, "volatile": [r"spin \d+"], "milestone": "^MILESTONE$",
    "rules": [
        {"rule": "asks", "turn": "waiting", "reason": "permission", "composer": False, "options": True, "question": "^May I"},
        {"rule": "old", "turn": "waiting", "reason": "dialog", "versions": "<2", "last": "^%foot"},
        {"rule": "new", "turn": "waiting", "reason": "login", "versions": ">=2", "last": "^%foot"},
        {"rule": "works", "turn": "working", "title": "^busy"},
        {"rule": "works", "turn": "working", "composer": True, "above": "^spin"},
        {"rule": "idle", "turn": "idle", "composer": True},
    ],
})  # fmt: skip


class Stage:
    """Panes of agents that show what is written into their files."""

    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="fs", dir="/tmp")
        self.tmux = Tmux(os.path.join(self.folder, "s"), binary=binary)
        self.asked = []
        self.scanner = Scanner(CLOCK, self.client, lambda name: RULES, lambda: self.tmux.socket, self.version)
        self.agents = []
        self.versions = {}

    def version(self, agent):
        return self.versions.get(agent.id)

    def client(self, socket):
        stage, batch = self, Batch(Tmux(self.tmux.socket, binary=self.tmux.binary, timeout_seconds=1.0))

        class Counting:
            server_pid = property(lambda _: batch.server_pid)

            def ask(self, *questions):
                stage.asked += questions
                return batch.ask(*questions)

        return Counting()

    def add(self, name, *, text=""):
        """An agent whose pane is a cat of what is typed to it."""
        config = ["-f", "/dev/null"] if not self.agents else []
        self.tmux.do(*config, "new-session", "-d", "-s", name, "-x", "80", "-y", "20", "stty -echo; exec cat")
        list_ = ("list-panes", "-t", f"={name}:", "-F")
        pane, pid, shown = self.tmux.do(*list_, "#{pane_id} #{pid} #{pane_pid}").split()
        reads = lambda: self.tmux.do(*list_, "#{pane_current_command}").strip() == "cat"  # before that, typing is echoed
        wait_until(reads, 10, clock=CLOCK, what="cat")
        blank = dict.fromkeys(Agent._fields) | {"id": name, "engine": "fake", "socket": self.tmux.socket}
        agent = Agent(**{**blank, "pane_id": pane, "server_pid": int(pid), "pid": int(shown)})
        self.agents.append(agent)
        if text:
            self.show(agent, text)
        return agent

    def show(self, agent, text):
        """Let the pane show *text* beneath what it shows."""
        self.tmux.do("load-buffer", "-b", "b", "-", text=text.encode())
        self.tmux.do("paste-buffer", "-d", "-b", "b", "-t", agent.pane_id)
        self.tmux.do("send-keys", "-t", agent.pane_id, "Enter")
        whole = lambda: text in self.tmux.do("capture-pane", "-p", "-t", agent.pane_id)  # drawn line by line
        wait_until(whole, 10, clock=CLOCK, what=text)

    def tick(self):
        self.asked.clear()
        return self.scanner.tick(self.agents)

    def captures(self):
        return sum(q.startswith("capture-pane -p -t") for q in self.asked)

    def quiet(self):
        """Tick until nothing moves any more: a pane is looked at again until its second is over."""
        wait_until(lambda: self.tick().captured == 0, 10, clock=CLOCK, what="nothing moves")


@pytest.fixture(params=sorted(VERSIONS))
def stage(request):
    binary = VERSIONS[request.param]
    if not shutil.which(binary):
        pytest.skip(f"tmux {request.param} is not there: scripts/get-tmux")
    one = Stage(binary)
    yield one
    one.tmux.ask("kill-server")
    shutil.rmtree(one.folder, ignore_errors=True)


def test_only_what_moved_is_captured(stage):
    """Idle panes cost one line of a listing; what they show stays known and is as fresh as the last tick."""
    first, second = stage.add("a", text=">"), stage.add("b", text="spin 1\n\n>")
    stage.quiet()
    before = stage.scanner.screens["a"].looked_at

    assert (2, 0) == stage.tick()[:2]
    assert before <= stage.scanner.screens["a"].looked_at
    stage.show(second, "\nMay I?\n1. Yes\n2. No")
    tick = stage.tick()

    assert 1 == stage.captures()
    assert frozenset({"b"}) == tick.changed
    screen = stage.scanner.screens["b"]
    assert ("waiting", "permission", "May I?", ("Yes", "No")) == (
        screen.turn,
        screen.reason,
        screen.question,
        screen.options,
    )
    assert "idle" == stage.scanner.screens[first.id].turn


def test_a_spinner_is_no_change(stage):
    """The time of the last change is that of something else than a spinner."""
    agent = stage.add("a", text="spin 1\n\n>")
    stage.tick()
    changed = stage.scanner.screens["a"].changed_at

    stage.tmux.do("send-keys", "-t", agent.pane_id, "-R")
    stage.tmux.do("clear-history", "-t", agent.pane_id)
    stage.show(agent, "spin 27\n\n>")
    stage.quiet()
    assert ("working", changed) == (stage.scanner.screens["a"].turn, stage.scanner.screens["a"].changed_at)

    stage.show(agent, "news\n\nspin 28\n\n>")
    stage.tick()
    assert changed < stage.scanner.screens["a"].changed_at


def test_a_scanner_goes_on_from_the_one_before(stage):
    """A drain that comes again is no sign of life: neither an old screen nor a marker that still stands is news."""
    stage.add("a", text="spin 1\nMILESTONE\n\n>")
    other = stage.add("b", text=">")
    stage.quiet()
    stage.scanner.note_digests()
    left = dict(stage.scanner.screens)
    stage.show(other, "one line more\n>")

    stage.scanner = Scanner(CLOCK, stage.client, lambda name: RULES, lambda: stage.tmux.socket, stage.version)
    stage.scanner.resume(left)
    assert frozenset({"a", "b"}) == stage.tick().changed  # whoever begins is told of all

    now = stage.scanner.screens
    for name in ("changed_at", "since", "quiet_since", "milestone_at"):
        assert getattr(left["a"], name) == getattr(now["a"], name), name
    assert left["a"].looked_at < now["a"].looked_at
    assert left["b"].changed_at < now["b"].changed_at


def test_only_what_stands_still_gets_a_digest(stage):
    """A screen that changed within the time given is left out; without one all are taken, as when a scanner ends."""
    stage.add("a", text=">")
    stage.quiet()

    stage.scanner.note_digests(still_seconds=3600)
    assert not stage.scanner.screens["a"].steady

    stage.scanner.note_digests()
    assert stage.scanner.screens["a"].steady


def test_the_title_is_part_of_the_screen(stage):
    """An engine may tell of its work there alone."""
    agent = stage.add("a", text=">")
    stage.quiet()

    stage.tmux.do("select-pane", "-t", agent.pane_id, "-T", "busy | it")
    stage.tick()

    assert "working" == stage.scanner.screens["a"].turn


def test_rules_are_those_of_the_agents_version(stage):
    """Of two bound rules that fit the same screen the agent's version decides; of an unknown version all are tried."""
    for name, version in (("a", "1.9.4"), ("b", "2.1.197"), ("c", None)):
        stage.add(name, text="%foot")
        stage.versions[name] = version

    stage.tick()

    assert {"a": "old", "b": "new", "c": "old"} == {
        name: screen.rule.partition("/")[2] for name, screen in stage.scanner.screens.items()
    }


def test_a_marker_is_told_once_for_as_long_as_it_stands(stage):
    """Its time is when it came up."""
    agent = stage.add("a", text=">")
    stage.tick()
    assert stage.scanner.screens["a"].milestone_at is None

    stage.show(agent, "MILESTONE\n\n>")
    stage.tick()
    first = stage.scanner.screens["a"].milestone_at
    stage.show(agent, "more\n\n>")
    stage.tick()

    assert first is not None
    assert first == stage.scanner.screens["a"].milestone_at


def test_a_frozen_server_is_an_error_and_nothing_is_forgotten(stage):
    """What was seen stays with the time of that look, which grows old; when it answers, all count as changed then."""
    agent = stage.add("a", text=">")
    stage.quiet()
    seen = stage.scanner.screens["a"]
    os.kill(agent.server_pid, signal.SIGSTOP)
    try:
        tick = stage.tick()
    finally:
        os.kill(agent.server_pid, signal.SIGCONT)

    assert tick.errors
    assert seen == stage.scanner.screens["a"]
    before = CLOCK.wall()
    wait_until(lambda: not stage.tick().errors, 10, clock=CLOCK, what="the server answers again")
    assert stage.scanner.screens["a"].changed_at >= before


def test_a_pane_that_went_loses_its_entry(stage):
    """And so does one whose program has ended, whose server is another one, or whose server is gone."""
    stage.add("keeper")
    killed, dead, other = stage.add("a", text=">"), stage.add("b", text=">"), stage.add("c", text=">")
    stage.tick()
    assert {"keeper", "a", "b", "c"} == set(stage.scanner.screens)
    stage.tmux.do("set-option", "-t", "=b:", "remain-on-exit", "on")

    stage.tmux.do("kill-session", "-t", "=a")
    os.kill(dead.pid, signal.SIGKILL)
    stage.agents[stage.agents.index(other)] = other._replace(server_pid=1)
    wait_until(lambda: stage.tick() and set(stage.scanner.screens) == {"keeper"}, 10, clock=CLOCK, what="one is left")
    assert killed.id not in stage.scanner.screens

    stage.tmux.do("kill-server")
    wait_until(lambda: stage.tick() and not stage.scanner.screens, 10, clock=CLOCK, what="no server, no screens")
