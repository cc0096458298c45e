"""What a drain loop does with signals."""

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
