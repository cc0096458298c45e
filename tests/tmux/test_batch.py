"""Many questions in one call: each has its answer, there is a clear word when there is none, and no server is harmed."""

import os
import re
import shutil
import signal
import tempfile
import threading
from pathlib import Path

import pytest

from fleet.clock import SystemClock, wait_until
from fleet.errors import Unreachable
from fleet.tmux.batch import MOST_AT_ONCE, Batch, NoServer
from fleet.tmux.client import Tmux
from tests.tmux.conftest import VERSIONS

CLOCK = SystemClock()
HERE = "has-session -t =a ; display-message -p here"


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
def batch(server):
    """Questions to it."""
    return Batch(server)


def sessions(tmux):
    """The names of all sessions."""
    return tmux.do("list-sessions", "-F", "#{session_name}").split()


def until(condition):
    """Wait for *condition*."""
    wait_until(condition, 15, clock=CLOCK, what="the condition")


def pid_of(tmux):
    """The server's own process id."""
    return int(tmux.do("display-message", "-p", "#{pid}"))


def test_answers_come_in_the_order_of_the_questions(batch, server):
    """Each question has its own answer; one that fails says so and harms no other."""
    pane = server.do("list-panes", "-t", "=a:", "-F", "#{pane_id}").strip()
    until(lambda: "last" in server.do("capture-pane", "-p", "-t", pane))

    got = batch.ask(f"capture-pane -p -t {pane}", "capture-pane -p -t %99", "display-message -p 'a b'", "has-session -t =b")

    assert [True, False, True, False] == [reply.ok for reply in got]
    assert ["%begin 1 2 1", "%end 1 2 1", "%error x", "last"] == got[0].text.splitlines()[:4]
    assert server.do("capture-pane", "-p", "-t", pane) == got[0].text + "\n"
    assert "a b" == got[2].text
    assert "can't find pane" in got[1].text
    assert pid_of(server) == batch.server_pid


def test_a_blank_screen_is_an_answer(batch, server):
    """Of as many empty lines as it has."""
    server.do("new-session", "-d", "-s", "blank", "-x", "80", "-y", "7", "sleep", "600")
    pane = server.do("list-panes", "-t", "=blank:", "-F", "#{pane_id}").strip()

    (got,) = batch.ask(f"capture-pane -p -t {pane}")

    assert (True, [""] * 7) == (got.ok, got.text.split("\n"))


@pytest.mark.parametrize("count", [0, 1, MOST_AT_ONCE - 1, MOST_AT_ONCE, MOST_AT_ONCE + 1, 6 * MOST_AT_ONCE])
def test_any_number_of_questions(batch, count):
    """More than a pipe holds, in both directions."""
    got = batch.ask(*[f"display-message -p '{n} {'x' * 200}'" for n in range(count)])

    assert [str(n) for n in range(count)] == [reply.text.split()[0] for reply in got]


def test_it_leaves_no_trace(batch, server):
    """No session, no client, no buffer is there for it, and nobody's size or keys change."""
    batch.ask(HERE)

    assert ["a"] == sessions(server)
    assert "" == server.do("list-clients") + server.do("list-buffers")
    told = server.do("display-message", "-p", "-t", "=a:", "#{window_width}x#{window_height} #{session_attached}")
    assert "80x10 0" == told.strip()


def test_no_server_is_not_started():
    """Where no server runs there is none afterwards, and it is said so."""
    folder = tempfile.mkdtemp(prefix="ft", dir="/tmp")
    tmux = Tmux(os.path.join(folder, "s"))

    with pytest.raises(NoServer):
        Batch(tmux).ask("list-sessions")

    assert not os.path.exists(tmux.socket)
    shutil.rmtree(folder)


def test_a_frozen_server_is_given_up_in_time_and_found_again(server):
    """No answer is `Unreachable` at the deadline; the server outlives our tries, and so does what it holds."""
    batch = Batch(Tmux(server.socket, binary=server.binary, timeout_seconds=0.4))
    pid = pid_of(server)
    os.kill(pid, signal.SIGSTOP)
    try:
        for _ in range(3):
            before = CLOCK.monotonic()
            with pytest.raises(Unreachable):
                batch.ask(HERE)
            assert CLOCK.monotonic() - before < 5
    finally:
        os.kill(pid, signal.SIGCONT)

    until(lambda: told(batch) == "here")
    assert pid == batch.server_pid
    assert ["a"] == sessions(server)


def told(batch):
    """What the server answers; None while it does not."""
    try:
        return batch.ask(HERE)[0].text
    except Unreachable:
        return None


def test_a_server_that_ends_is_told_apart(batch, server):
    """A server that is going is `Unreachable`, one that is gone `NoServer`: certainly none."""
    server.ask("kill-server")

    with pytest.raises(Unreachable):
        batch.ask(HERE)
    until(lambda: is_told_gone(batch))


def is_told_gone(batch):
    """Whether it is said that there is no server; until then it may only be said that it could not be looked."""
    try:
        batch.ask(HERE)
    except NoServer:
        return True
    except Unreachable:
        return False
    raise AssertionError("an answer of a server that is gone")


def test_a_server_outlives_many_that_look_at_once(server):
    """
    Looks from several processes at a server whose sessions and clients come and go leave it running.

    Control-mode clients in their place crashed 3.3a and 3.5a within a second.
    """
    pid, over, looked = pid_of(server), threading.Event(), []

    def look():
        while not over.is_set():
            looked.append(told(Batch(server)))

    def disturb():
        while not over.is_set():
            server.ask("new-session", "-d", "-s", "b", "sleep", "600")
            server.ask("rename-session", "-t", "=b", "c")
            server.ask("kill-session", "-t", "=c")

    threads = [threading.Thread(target=one) for one in (look, look, disturb)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: len(looked) >= 200, 60, clock=CLOCK, what="200 looks")
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert {"here"} == set(looked)
    assert pid == pid_of(server)


def test_nobody_is_a_control_client():
    """No call of tmux in fleet has the flag that makes one: see `fleet.tmux.batch`."""
    source = Path(__file__).parents[2] / "fleet" / "tmux"

    assert [] == [path.name for path in source.rglob("*.py") if re.search(r"""["']-CC?["']""", path.read_text())]
