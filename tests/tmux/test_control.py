"""The lasting control-mode client: many questions in one go, and a clear word when there is no answer."""

import os
import signal
import subprocess
import tempfile
import shutil

import pytest

from fleet.clock import SystemClock
from fleet.errors import Unreachable
from fleet.tmux.client import Tmux
from fleet.tmux.control import KEEPER, Control, NoServer
from tests.tmux.conftest import VERSIONS

CLOCK = SystemClock()


@pytest.fixture(params=sorted(VERSIONS))
def server(request):
    """A tmux server of a version, with one session that shows hostile text."""
    binary = VERSIONS[request.param]
    if not shutil.which(binary):
        pytest.skip(f"tmux {request.param} is not there: scripts/get-tmux")
    folder = tempfile.mkdtemp(prefix="ft", dir="/tmp")
    tmux = Tmux(os.path.join(folder, "s"), binary=binary)
    show = r"printf '%%begin 1 2 1\n%%end 1 2 1\n%%error x\nlast'; exec sleep 600"
    tmux.do("-f", "/dev/null", "new-session", "-d", "-s", "a", "-x", "80", "-y", "10", "sh", "-c", show)
    yield tmux
    tmux.ask("kill-server")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def control(server):
    """A client of it."""
    one = Control(server, CLOCK)
    yield one
    one.close()


def sessions(tmux):
    """The names of all sessions."""
    return tmux.do("list-sessions", "-F", "#{session_name}").split()


def until(condition):
    """Wait for *condition*."""
    from fleet.clock import wait_until

    wait_until(condition, 15, clock=CLOCK, what="the condition")


def test_answers_come_in_the_order_of_the_questions(control, server):
    """Each question has its own answer; one that fails says so and harms no other."""
    pane = server.do("list-panes", "-t", "=a:", "-F", "#{pane_id}").strip()
    until(lambda: "last" in server.do("capture-pane", "-p", "-t", pane))

    got = control.ask(f"capture-pane -p -t {pane}", "capture-pane -p -t %99", "has-session -t =a", "has-session -t =b")

    assert [True, False, True, False] == [reply.ok for reply in got]
    assert ["%begin 1 2 1", "%end 1 2 1", "%error x", "last"] == got[0].text.splitlines()[:4]
    assert "can't find pane" in got[1].text
    assert control.server_pid == int(server.do("display-message", "-p", "#{pid}"))


def test_hundreds_of_questions_in_one_go(control):
    """More than a pipe holds, in both directions."""
    got = control.ask(*[f"display-message -p '{n} {'x' * 200}'" for n in range(600)])

    assert [str(n) for n in range(600)] == [reply.text.split()[0] for reply in got]


def test_it_counts_for_nobodys_size_and_leaves_with_its_owner(control, server):
    """The keeper is its only session; after kill -9 of the client the server has removed it."""
    control.ask("has-session")
    keepers = [name for name in sessions(server) if name.startswith(KEEPER)]
    assert 1 == len(keepers)
    assert "80x10" == server.do("display-message", "-p", "-t", "=a:", "#{window_width}x#{window_height}").strip()

    os.kill(control._client.pid, signal.SIGKILL)

    until(lambda: ["a"] == sessions(server))
    assert control.ask("has-session -t =a")[0].ok, "a client that somebody ended is replaced"


def answers(control):
    """Whether the client gets its answer."""
    try:
        return control.ask("has-session -t =a")[0].ok
    except Unreachable:
        return False


def test_it_is_in_nobodys_way(control, server):
    """
    Others type, and attach, as if it were not there.

    With a read-only client 3.8 refused the send-keys of every other process.
    """
    control.ask("has-session")

    server.do("send-keys", "-t", "=a:", "x")
    server.do("send-keys", "-t", "=a:", "Enter")

    assert "0" == server.do("display-message", "-p", "-t", "=a:", "#{session_attached}").strip()


def test_closing_leaves_nothing(control, server):
    """No session and no process of ours is left; closing twice is fine."""
    control.ask("has-session")
    client = control._client

    control.close()
    control.close()

    until(lambda: ["a"] == sessions(server))
    assert client.returncode is not None


def test_no_server_is_not_started(tmp_path):
    """Where no server runs there is none afterwards, and it is said so."""
    folder = tempfile.mkdtemp(prefix="ft", dir="/tmp")
    tmux = Tmux(os.path.join(folder, "s"))

    with pytest.raises(NoServer):
        Control(tmux, CLOCK).ask("list-sessions")

    assert not os.path.exists(tmux.socket)
    shutil.rmtree(folder)


def test_a_frozen_server_is_given_up_in_time_and_found_again(server):
    """
    No answer is `Unreachable` at the deadline; the server outlives our tries, and so does what it holds.

    An attached `new-session` whose client was given up meanwhile crashes 3.3a and 3.5a.
    """
    control = Control(server, CLOCK, seconds=0.4)
    control.ask("has-session -t =a")
    pid = control.server_pid
    os.kill(pid, signal.SIGSTOP)
    try:
        for _ in range(3):
            before = CLOCK.monotonic()
            with pytest.raises(Unreachable):
                control.ask("has-session -t =a")
            assert CLOCK.monotonic() - before < 5
    finally:
        os.kill(pid, signal.SIGCONT)

    until(lambda: answers(control))
    assert pid == control.server_pid
    control.close()
    until(lambda: ["a"] == sessions(server))


def test_a_server_that_ends_is_told_apart(control, server):
    """A server that is going is `Unreachable`, one that is gone `NoServer`: certainly none."""
    control.ask("has-session -t =a")

    server.ask("kill-server")

    with pytest.raises(Unreachable):
        control.ask("has-session -t =a")
    until(lambda: is_told_gone(control))


def is_told_gone(control):
    """Whether the client says that there is no server; until then it may only say that it could not look."""
    try:
        control.ask("has-session -t =a")
    except NoServer:
        return True
    except Unreachable:
        return False
    raise AssertionError("an answer of a server that is gone")
