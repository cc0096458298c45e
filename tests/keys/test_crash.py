"""kill -9 between any two effects of install and uninstall: the same command again completes it, the opposite undoes it."""

import os
import signal
import subprocess
import sys

import pytest

from tests.keys.conftest import HOSTILE, Desk

#: Ends the process without a word before its n-th effect: a file that is published or removed, or a call of tmux.
SHIM = """
import os, signal, subprocess, sys
left = int(sys.argv.pop(1))
def before(real):
    def wrapped(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    return wrapped
for module, name in ((os, "replace"), (os, "unlink"), (os, "link"), (subprocess, "run")):
    setattr(module, name, before(getattr(module, name)))
from fleet.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write(f"left={left}")
sys.exit(code)
"""


@pytest.fixture(scope="module")
def desk():
    """One server for all, because every test leaves it as it was; that is the law under test."""
    one = Desk(config=HOSTILE.format(shell="/bin/sh"))
    for words in (INSTALL, ("keys", "uninstall")):  # what is remembered of settings files is no effect of any test
        one.fleet(*words)
    yield one
    one.close()


def killed_before(desk, number, *words):
    """Run `fleet WORDS` and kill it before its effect of that number; whether there was one."""
    done = subprocess.run(
        [sys.executable, "-c", SHIM, str(number), *words],
        env=desk.env,
        cwd=desk.project,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode in (0, -signal.SIGKILL), done
    return done.returncode != 0


def effects(desk, *words):
    """How many effects the command has now (it is carried out)."""
    done = subprocess.run(
        [sys.executable, "-c", SHIM, "100000", *words], env=desk.env, cwd=desk.project, capture_output=True, timeout=60
    )
    assert 0 == done.returncode, done
    return 100000 - int(done.stderr.decode().rpartition("left=")[2])


pytestmark = pytest.mark.timeout(600)
INSTALL = ("keys", "install", "--prefix", "F", "--persist")
CONF = b"set -g @kept yes"


def ways(number, request):
    """What follows a kill: install again, or only uninstall. Both with --all, else in turn."""
    both = ((), INSTALL)
    return both if request.config.getoption("--all") else (both[number % 2],)


def state(desk):
    conf = desk.home / ".tmux.conf"
    journals = list(desk.fleet_home.glob("run/keys/*.json"))
    beside = [p.name for p in desk.home.iterdir() if p.name.endswith(".tmp")]
    return desk.bindings(), conf.read_bytes() if conf.exists() else None, journals, beside


@pytest.fixture
def untouched(desk):
    """What must be there again in the end."""
    (desk.home / ".tmux.conf").write_bytes(CONF)
    found = state(desk)
    assert [] == found[2]
    return found


@pytest.mark.crash
def test_killed_in_the_middle_of_install(desk, untouched, request, stride):
    """Whatever was done: uninstall gives all back; install again, then uninstall, too."""
    count = effects(desk, *INSTALL)
    desk.fleet("keys", "uninstall")
    assert untouched == state(desk)
    assert 10 < count
    for number in range(0, count, stride):
        for way in ways(number, request):
            assert killed_before(desk, number, *INSTALL), number
            if way:
                desk.fleet(*way)
                assert "switch-client -T fleet" in desk.tmux("list-keys", "-T", "prefix", "F")
            desk.fleet("keys", "uninstall")
            assert untouched == state(desk), (number, way)


@pytest.mark.crash
def test_killed_in_the_middle_of_uninstall(desk, untouched, request, stride):
    """Uninstall again completes it; install again makes it whole, and that can be taken back."""
    desk.fleet(*INSTALL)
    count = effects(desk, "keys", "uninstall")
    for number in range(0, count, stride):
        for way in ways(number, request):
            desk.fleet(*INSTALL)
            assert killed_before(desk, number, "keys", "uninstall"), number
            if way:
                desk.fleet(*way)
            desk.fleet("keys", "uninstall")
            assert untouched == state(desk), (number, way)


@pytest.mark.crash
def test_killed_and_the_server_restarts(desk, untouched):
    """A half-done install on a server that is gone does no harm to the next one on its socket."""
    count = effects(desk, *INSTALL)
    desk.fleet("keys", "uninstall")
    for number in range(0, count, 5):
        assert killed_before(desk, number, *INSTALL)
        desk.tmux("kill-server")
        desk.until(lambda: not desk.tmux("list-sessions"), "the server is gone")
        desk.boot()
        desk.fleet("keys", "uninstall")
        assert untouched == state(desk), number


def test_the_shim_does_kill(desk, untouched):
    """Before its first effect nothing has happened."""
    assert killed_before(desk, 0, *INSTALL)
    assert untouched == state(desk)
    assert os.path.exists(desk.socket)
