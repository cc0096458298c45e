"""Commands beside the screen, and the loop that waits for them."""

import os
import signal

import pytest

from fleet.fakeagent.children import Children
from fleet.fakeagent.clockwork import Loop, Task, Wait, hold
from tests.fakeagent.bench import alive, until


@pytest.fixture
def loop():
    """A loop whose signal handlers are put back."""
    found = {number: signal.getsignal(number) for number in (signal.SIGCHLD,)}
    made = Loop()
    yield made
    made.close()
    for number, handler in found.items():
        signal.signal(number, handler)


def run(loop, steps):
    """Run a scenario to its end and return what it returned."""
    task = Task(steps)

    def stop():
        loop.stopped = True

    task.finished.then(stop)
    guard = loop.later(10, stop)
    loop.run()
    guard.cancel()
    assert task.finished.done
    return task.finished.value


def ended(pid):
    """Whether a child has ended and nobody has collected it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


ENV = {"PATH": os.environ["PATH"]}


def test_both_streams_of_a_command_that_ended_are_read(loop):
    """The end of one stream is not the end of the other."""
    child = Children(loop).start("echo out; echo err >&2; exit 3", env=ENV)
    until(lambda: ended(child.pid), "the end of the command")
    finished = run(loop, hold(child.finished))

    assert (3, "out\n", "err\n") == (finished.status, finished.stdout, finished.stderr)


def test_more_than_a_pipe_holds_goes_in_and_out(loop):
    """Neither side waits for the other for ever."""
    text = "x" * 1_000_000
    child = Children(loop).start("cat", payload=text, env=ENV)

    assert text == run(loop, hold(child.finished)).stdout


def test_a_command_need_not_read_its_input(loop):
    """A broken pipe is no error."""
    child = Children(loop).start("exec <&-; sleep 0.2", payload="x" * 1_000_000, env=ENV)

    assert 0 == run(loop, hold(child.finished)).status


def test_a_tool_ends_with_its_shell_and_a_hook_with_its_output(loop):
    """A child left behind with the output open holds up a hook only."""
    children = Children(loop)
    command = "sleep 0.3 & exit 0"
    tool, hook = children.start(command, env=ENV), children.start(command, env=ENV, hook=True)
    first = run(loop, hold(tool.finished))
    assert not hook.finished.done
    loop.stopped = False

    assert first.milliseconds < 300 <= run(loop, hold(hook.finished)).milliseconds


def test_a_timeout_ends_the_whole_session(loop):
    """Also what the command has started; and the wait is over at once."""
    children = Children(loop)
    child = children.start("sleep 60 & echo $!; wait", env=ENV, timeout_seconds=0.2, hook=True)
    finished = run(loop, hold(child.finished))

    assert finished.timed_out
    until(lambda: not alive(int(finished.stdout)), "the end of the grandchild")


def test_an_interrupt_ends_a_command(loop):
    """An error raised in the scenario kills what it waits for."""
    children = Children(loop)
    seen = []

    def scenario():
        try:
            yield from children.run("echo $$ > /dev/null; sleep 60", env=ENV)
        except InterruptedError:
            seen.append("interrupted")

    task = Task(scenario())
    [child] = children._running
    task.throw(InterruptedError())

    assert ["interrupted"] == seen
    run(loop, hold(child.finished))
    assert -signal.SIGKILL == child.finished.value.status


def test_sigpipe_is_deadly_again(loop):
    """Python ignores it, its children must not: they would complain about a broken pipe."""
    finished = run(loop, hold(Children(loop).start("yes | head -1", env=ENV).finished))

    assert ("y\n", "") == (finished.stdout, finished.stderr)


def test_an_interrupted_scenario_forgets_what_it_waited_for():
    """A value that comes late wakes nobody."""
    first, second, seen = Wait(), Wait(), []

    def scenario():
        try:
            seen.append((yield from hold(first)))
        except InterruptedError:
            seen.append((yield from hold(second)))

    task = Task(scenario())
    task.throw(InterruptedError())
    first.set("late")
    assert [] == seen
    second.set("right")

    assert ["right"] == seen
    assert task.finished.done


def test_timers_ring_in_order(loop):
    """The earliest first, and cancelled ones never."""
    rung = []
    loop.later(0.02, lambda: rung.append("second"))
    loop.later(0.01, lambda: rung.append("first"))
    loop.later(0.015, lambda: rung.append("never")).cancel()

    def stop():
        loop.stopped = True

    loop.later(0.03, stop)
    loop.run()
    assert ["first", "second"] == rung
