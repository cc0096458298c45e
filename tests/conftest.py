"""What every test stands on: a home of its own, clocks that only move when told, and long forms behind `--all`."""

import itertools
import json
import os
import zlib

import pytest
from hypothesis import HealthCheck, settings

from fleet.formats.layout import Layout

QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}
settings.register_profile("quick", max_examples=60, **QUIET)
settings.register_profile("all", max_examples=1000, **QUIET)


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run the long forms too (marker `full`)")


def pytest_configure(config):
    settings.load_profile("all" if config.getoption("--all") else "quick")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--all"):
        return
    skip = pytest.mark.skip(reason="the long form of a matrix: runs with --all")
    for item in items:
        if item.get_closest_marker("full") or _is_others_turn(item):
            item.add_marker(skip)


def _is_others_turn(item):
    """Whether the test runs on one of the other tmux versions only, and this is the one that it is spared."""
    marker = item.get_closest_marker("versions")
    turn = None if marker is None else marker.kwargs.get("turn")
    return turn is not None and (zlib.crc32(item.originalname.encode()) + turn) % 2 == 1


def sampled(*names, every=3):
    """The rows of a matrix as parameters: every *every*-th runs, the others with --all; each column gets its turn."""
    rows = itertools.product(*names)
    return [pytest.param(*row, marks=[pytest.mark.full] if n % every else []) for n, row in enumerate(rows)]


@pytest.fixture
def stride(request):
    """Of the effects of a crash matrix every how many-th one is cut: each with --all, else every fourth."""
    return 1 if request.config.getoption("--all") else 4


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """No test sees or touches the fleet, the home or the tmux server of the person who runs it."""
    for name in list(os.environ):
        if name.startswith(("FLEET_", "TMUX")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FLEET_HOME", str(tmp_path / "fleet"))


@pytest.fixture
def layout(tmp_path):
    """A fleet home in *tmp_path*, with its folders."""
    made = Layout(str(tmp_path / "fleet"))
    made.make()
    return made


class FakeClock:
    """A `fleet.clock.Clock` whose time passes only when somebody sleeps or the test moves it."""

    def __init__(self, wall=1_796_043_600.0):  # 2026-11-30T13:00:00Z
        self._wall = wall
        self._monotonic = 1000.0
        self.slept = []

    def wall(self):
        return self._wall

    def monotonic(self):
        return self._monotonic

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds):
        self._wall += seconds
        self._monotonic += seconds

    def jump(self, seconds):
        """Set the wall clock forward or back, as ntpd or a person does; intervals do not notice."""
        self._wall += seconds


@pytest.fixture
def clock():
    """A clock that stands still until it is told otherwise."""
    return FakeClock()


CONTRACT_RECORD = {
    "schema_version": 1, "id": "a1b2c3d4", "pid": 4711, "pid_start": "linux-stat:812345",
    "tmux_session": "fleet-a1b2c3d4", "engine": "claude-code", "role": "executor", "mode": "execute",
    "task_id": "fix-login", "project": "default", "review_round": None, "context_pct": 55.25,
    "context_source": "hook", "last_activity_ts": "2026-11-30T13:00:00Z", "blocked": False, "blocked_reason": None,
    "blocked_since": None, "needs_input": False, "inbox_pending": False, "handoff_type": None,
    "handoff_type_at": None, "last_handoff_path": None, "handoff_number": 1, "cwd": "/home/dev/project",
    "command": ["claude"], "spawned_at": "2026-11-30T12:59:00Z", "predecessor_id": None, "successor_id": None,
    "dispatch_id": "0f1e2d3c", "generation": 1, "origin": "dispatch", "socket": "/home/dev/tmux.sock",
    "tmux_session_id": "$3", "window_id": "@3", "pane_id": "%3", "server_pid": 4000, "boot_id": "…", "host": "dev",
}  # fmt: skip


@pytest.fixture
def agent_record():
    """Makes the record of the contract, with changes."""
    return lambda **changes: {**CONTRACT_RECORD, **changes}


@pytest.fixture
def write_record(layout):
    """Writes the record of the contract, with changes, as another program would; returns its path."""

    def write(**changes):
        data = {**CONTRACT_RECORD, **changes}
        path = layout.record(data["id"])
        with open(path, "w", encoding="utf-8") as f:
            json.dump(data, f, ensure_ascii=False)
        return path

    return write


@pytest.fixture
def real():
    """The path of a payload or log that a real client wrote (secrets and long texts trimmed)."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "real")
    return lambda name: os.path.join(folder, name)
