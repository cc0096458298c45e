"""Yards that are cleared away, whatever happens."""

import pytest

pytest.register_assert_rewrite("tests.crash.yard", "tests.crash.invariants")

from tests.crash.yard import Yard


@pytest.fixture
def yards():
    """Makes yards."""
    made = []

    def make():
        made.append(Yard())
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def yard(yards):
    """One yard."""
    return yards()
