"""What `fleet liveness` says beside its figures."""

from types import SimpleNamespace

import pytest

from fleet.cli.commands.liveness import hint_of, why_of
from fleet.formats.states import Existence, Turn
from fleet.model.liveness import Liveness, Verdict
from fleet.model.state import Facts, State


def seen(last_said=None, background=0, verdict=Verdict.STALLED):
    """An observation, as far as words hang on it."""
    state = State(turn=Turn.WORKING, source="hook", background=background)
    facts = Facts(pane=Existence.ALIVE, last_said=last_said)
    return SimpleNamespace(
        sight=SimpleNamespace(agent=SimpleNamespace(id="a1b2c3d4"), state=state, facts=facts),
        liveness=Liveness(verdict, "w"),
    )


@pytest.mark.parametrize(
    ("cause", "known"),
    [
        ("a command", {"last_said": "tool"}),
        ("a command", {"background": 1}),
        ("its model does not answer", {"last_said": "prompt"}),
        ("its model does not answer", {"last_said": "result"}),
        ("fleet peek a1b2c3d4", {}),
    ],
)
def test_the_hint_fits_the_stall(cause, known):
    """A command is only blamed where the log or the engine names one."""
    hint = hint_of(seen(**known))

    assert cause in hint
    assert ("command" in hint) == (cause == "a command")


def test_only_what_is_dead_stalled_or_fine_is_hinted_at_so():
    """Nothing is said of what is fine."""
    assert hint_of(seen(verdict=Verdict.FRESH)) is None
    assert "fleet recover a1b2c3d4" in hint_of(seen(verdict=Verdict.GONE))


def test_what_is_gone_waits_for_nobody():
    """Its WHY is what happened to it."""
    gone = Liveness(Verdict.GONE, "neither session nor engine is left", "you")

    assert "neither session nor engine is left" == why_of(gone)
    assert "waits for you" == why_of(gone._replace(verdict=Verdict.FINISHED))
