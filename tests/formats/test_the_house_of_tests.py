"""The guard that keeps tests away from the person who runs them, and the clock that tests wait with."""

import os
import subprocess
import sys

import pytest

from fleet.clock import wait_until
from fleet.errors import TimedOut


def test_the_fleet_home_of_a_test_is_its_own(tmp_path):
    """FLEET_HOME and HOME lie in the test's own folder."""
    assert str(tmp_path / "fleet") == os.environ["FLEET_HOME"]
    assert str(tmp_path / "home") == os.path.expanduser("~")


def test_nothing_of_the_callers_fleet_or_tmux_reaches_a_test():
    """Of the caller's FLEET_* and TMUX* variables only our own FLEET_HOME is left."""
    assert ["FLEET_HOME"] == [name for name in os.environ if name.startswith(("FLEET_", "TMUX"))]


def test_the_guard_removes_what_the_caller_had_set(pytestconfig, tmp_path):
    """A run started inside an agent's pane does not act as that agent."""
    inner = os.path.join(str(pytestconfig.rootpath), "tests", "formats", "test_the_house_of_tests.py")
    env = {**os.environ, "FLEET_AGENT_ID": "a1b2c3d4", "TMUX": "/x,1,0", "TMUX_PANE": "%1", "FLEET_HOME": "/nowhere"}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", inner]
    argv += ["-k", "nothing_of_the_callers or fleet_home_of_a_test", f"--basetemp={tmp_path / 'inner'}"]
    done = subprocess.run(argv, env=env, cwd=pytestconfig.rootpath, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_sleeping_on_the_fake_clock_takes_no_time(clock):
    """A condition that never holds times out on the fake clock after exactly the time allowed."""
    start = clock.monotonic()
    with pytest.raises(TimedOut, match="rain"):
        wait_until(lambda: False, 3600, clock=clock, what="rain")
    assert 3600 <= clock.monotonic() - start < 3601


def test_a_jump_of_the_wall_clock_is_no_interval(clock):
    """Setting the wall clock does not move the monotonic one."""
    before = clock.monotonic()
    clock.jump(-86400)
    assert before == clock.monotonic()


@pytest.mark.parametrize(("outcome", "flags"), [("1 skipped", []), ("1 passed", ["--all"])])
def test_the_long_forms_run_only_when_asked_for(pytestconfig, tmp_path, outcome, flags):
    """A test marked `full` is skipped, with its reason, unless --all is given."""
    root = str(pytestconfig.rootpath)
    long = tmp_path / "test_long.py"
    long.write_text("import pytest\n\n\n@pytest.mark.full\ndef test_long():\n    pass\n")
    argv = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    argv += [
        "-c",
        os.path.join(root, "pyproject.toml"),
        "--rootdir",
        root,
        f"--basetemp={tmp_path / 'inner'}",
        str(long),
    ]
    done = subprocess.run([*argv, *flags], cwd=root, capture_output=True, text=True)
    assert outcome in done.stdout, done.stdout + done.stderr
    assert ("runs with --all" in done.stdout) == (flags == [])
