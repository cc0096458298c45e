"""What a drain loop does with signals, and how others see it."""

import os
import signal

import pytest

from fleet.cli.commands.drain import ENDING, end_by_signal


@pytest.fixture
def former():
    """The handlers of this process come back."""
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP,), (signal.SIGHUP, signal.SIGINT)])
def test_what_was_ignored_from_the_start_stays_ignored(former, ignored):
    """A drain that nohup started outlives its terminal; whatever else is to end it ends it in good order."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    ends = []

    end_by_signal(lambda: ends.append(True))
    for number in ENDING:
        os.kill(os.getpid(), number)

    assert len(ENDING) - len(ignored) == len(ends)


def test_a_suspended_drain_is_named(world):
    """It holds the lock and does nothing; whoever waits is told so, and what to do."""
    world.dispatch("t", "hi\nSTUB: say=ok")
    drain = world.start("drain")
    world.until(lambda: world.run("drain", "--status").returncode == 0, "it runs")
    drain.send_signal(signal.SIGSTOP)
    cure = f"kill -CONT {drain.pid}"
    world.until(lambda: cure in world.fleet("drain", "--status"), "it is stopped")

    assert cure in world.json("send", "t", "hello", "--wait", "1")["error"]
    assert cure.encode() in world.run("handoff", "t", "--timeout", "1").stderr

    drain.send_signal(signal.SIGCONT)
    world.until(lambda: not world.json("queue", "list"), "the handoff is over")
    world.fleet("drain", "--stop")
    assert 0 == drain.wait(30)
