"""What the operator is told of, once, and not at night."""

import pytest

from fleet.formats.states import Reason, Turn
from fleet.model.state import State
from fleet.model.notices import Kind, Notice, hours, is_quiet, notice, passes, told_as

ASKS = State(turn=Turn.WAITING, reason=Reason.PERMISSION, source="hook", evidence="asks to use Bash")
PLAIN = {"leaving": False, "looked_at": False, "held": False}


@pytest.mark.parametrize(
    ("name", "state", "other"),
    [
        ("waiting/permission", ASKS, {}),
        ("waiting/permission", ASKS, {"looked_at": True}),
        ("waiting/dialog", ASKS._replace(reason=Reason.DIALOG), {}),
        ("", ASKS._replace(reason=Reason.DIALOG), {"looked_at": True}),
        ("waiting/limit", ASKS._replace(reason=Reason.LIMIT), {}),
        ("", ASKS._replace(reason=Reason.LIMIT), {"held": True}),
        ("", ASKS._replace(reason=Reason.DRAFT), {}),
        ("", ASKS._replace(reason=Reason.HOLD), {}),
        ("dead-letter", ASKS._replace(reason=Reason.DEAD_LETTER), {}),
        ("exited", ASKS._replace(turn=Turn.EXITED, reason=None), {}),
        ("", ASKS._replace(turn=Turn.EXITED, reason=None), {"leaving": True}),
        ("", ASKS._replace(turn=Turn.IDLE, reason=None), {}),
        ("", ASKS._replace(turn=Turn.UNKNOWN, reason=None), {}),
    ],
)
def test_what_is_told(name, state, other):
    """What only you can end; neither what you did yourself nor what the hold of an account tells for all."""
    assert name == told_as(state, **{**PLAIN, **other})


def test_a_notice_says_who_and_what():
    """The question where the screen has one, on one line."""
    one = notice("waiting/permission", "a1b2c3d4", "fix", ASKS, "Do you want\n to proceed?", None)

    assert (Kind.WAITING, "fix asks for permission") == (one.kind, one.title)
    assert "Do you want to proceed? (fleet attach a1b2c3d4)" == one.text


@pytest.mark.parametrize(
    ("span", "at", "quiet"),
    [("22:00-07:00", 22 * 60, True), ("22:00-07:00", 0, True), ("22:00-07:00", 7 * 60, False),
     ("22:00-07:00", 12 * 60, False), ("12:00-13:00", 12 * 60, True), ("12:00-13:00", 13 * 60, False),
     ("12:00-12:00", 12 * 60, False)],
)  # fmt: skip
def test_quiet_hours(span, at, quiet):
    """They may go over midnight; their end is no longer quiet."""
    assert quiet == is_quiet(hours(span), at)


@pytest.mark.parametrize("text", ["", "22-7", "24:00-07:00", "22:00-07:60", "22:00 - 07:00"])
def test_what_is_no_span(text):
    """Nothing is quiet then; the settings refuse it before."""
    assert hours(text) is None
    assert not is_quiet(None, 5)


def test_the_same_again_within_the_debounce():
    """Per agent and kind; a clock that was set back silences nobody for long."""
    one = Notice(Kind.WAITING, "a", "t", "x")
    last = {(Kind.WAITING, "a"): 100.0}

    assert not passes(one, ["waiting"], last, 130.0, 60.0)
    assert passes(one, ["waiting"], last, 160.0, 60.0)
    assert passes(one, ["waiting"], last, 50.0, 60.0)
    assert passes(one._replace(about="b"), ["waiting"], last, 130.0, 60.0)
    assert passes(one._replace(kind=Kind.EXITED), ["exited"], last, 130.0, 60.0)
    assert not passes(one, ["exited"], {}, 130.0, 60.0)
