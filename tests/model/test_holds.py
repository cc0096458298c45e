"""Holds: what begins, prolongs and lifts them, and what is read of the time at which an engine goes on."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.engines.accounts import account_of
from fleet.formats.states import Reason, Turn
from fleet.model.holds import Failure, Hold, Lift, Scope, first_of, noticed, succeeded, unreadable
from fleet.model.reset_times import reset_time
from fleet.model.judge import Existence, judge
from fleet.model.state import Facts

NOW = dt.datetime(2026, 11, 30, 14, 0, tzinfo=dt.UTC).timestamp()
FAILED = Failure("aaaaaaaa", "codex", "0" * 12, Reason.LIMIT, "limit", NOW, "aaaaaaaa@1")
ESTIMATE = 900.0


def see(hold, failure, now=NOW):
    return noticed(hold, failure, now=now, estimate_seconds=ESTIMATE)


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("You've hit your limit · resets 5pm", "2026-11-30 17:00"),
        ("You've hit your limit · resets 1pm", "2026-12-01 13:00"),
        ("⎿  You've hit your limit · resets Jan 15, 2027, 8am (UTC)", "2027-01-15 08:00"),
        ("purchase more credits or try again at Jan\n15th, 2027 8:00 AM.", "2027-01-15 08:00"),
        ("try again at 3:05 PM.", "2026-11-30 15:05"),
        ("try again in 3 hours", "2026-11-30 17:00"),
        ("Try again in 2 days 1 hour and 5 minutes.", "2026-12-02 15:05"),
        ("resets in 2h 15m", "2026-11-30 16:15"),
        ("resets at 3:30pm (Europe/Berlin)", "2026-11-30 14:30"),
        ("resets Dec 3 at 5pm (America/New_York)", "2026-12-03 22:00"),
        ("resets Jan 2, 9am", "2027-01-02 09:00"),
        ("resets Thursday 9am", "2026-12-03 09:00"),
        ("usually temporary — try again in a moment.", None),
        ("try again later", None),
        ("resets 5", None),
        ("resets 25pm (UTC) tomorrow", "2026-12-01 13:00"),
        ("resets 5pm (Nowhere/Atall)", None),
        ("resets Feb 30, 2027, 8am", None),
        ("resets Jan 15, 2030, 8am (UTC)", None),
        ("the working directory", None),
    ],
)
def test_when_it_goes_on(text, utc):
    """Every form seen of Claude Code and Codex, wrapped or not; what is no time, or absurd, is none."""
    found = reset_time(text, NOW, dt.UTC)

    assert utc == (None if found is None else dt.datetime.fromtimestamp(found, dt.UTC).strftime("%Y-%m-%d %H:%M"))


@given(st.text(max_size=200))
def test_no_text_breaks_it(text):
    """Whatever an engine says, a time in the near future comes out or none."""
    found = reset_time("resets " + text, NOW, dt.UTC)

    assert found is None or NOW - 86400 < found < NOW + 63 * 86400


def test_a_limit_without_a_time_lasts_as_long_as_is_guessed():
    """From the failure, not from when it was seen: one that is long over holds nobody."""
    assert (NOW + ESTIMATE, True) == (see(None, FAILED).until, see(None, FAILED).estimated)
    assert see(None, FAILED, now=NOW + ESTIMATE) is None
    assert see(None, FAILED._replace(until=NOW + 5), now=NOW + 6) is None


def test_a_lost_login_has_no_end_of_its_own():
    """It is lifted by a success or by hand."""
    hold = see(None, FAILED._replace(reason=Reason.LOGIN))

    assert hold.until is None
    assert hold.is_on(NOW + 1e7)


def test_a_time_that_is_told_late_replaces_the_guess():
    """The hook tells of the failure first, the screen of the reset."""
    hold = see(see(None, FAILED), FAILED._replace(until=NOW + 7200))

    assert (NOW + 7200, False) == (hold.until, hold.estimated)
    assert hold is see(hold, FAILED)


def test_one_failed_turn_counts_once():
    """What is still on the screen after the hold was lifted begins none; another turn that fails does."""
    lifted = see(None, FAILED)._replace(lifted_at=NOW + 1, lifted_by=Lift.HAND)

    assert lifted is see(lifted, FAILED, now=NOW + 2)
    again = see(lifted, FAILED._replace(mark="aaaaaaaa@2", at=NOW + 3), now=NOW + 3)
    assert again.is_on(NOW + 3)
    assert again is see(again, FAILED, now=NOW + 4)


def test_a_second_agent_prolongs_and_never_shortens():
    """A known end outlives a guess; the hold begins anew for what must succeed after it."""
    known = see(None, FAILED._replace(until=NOW + 7200))
    both = see(known, FAILED._replace(mark="bbbbbbbb@1", at=NOW + 10), now=NOW + 10)

    assert (NOW + 7200, False, NOW + 10) == (both.until, both.estimated, both.begun_at)


@pytest.mark.parametrize(
    ("began", "ended", "well"),
    [(NOW + 1, NOW + 2, True), (NOW - 5, NOW + 2, False), (None, NOW + 2, False), (NOW + 1, None, False)],
)
def test_only_a_turn_that_began_after_it_shows_that_it_is_over(began, ended, well):
    """One that was on its way when the limit came tells nothing."""
    assert well == succeeded(see(None, FAILED), began, ended)


def test_what_a_hold_is_on():
    """An account is an engine with a credential; the longest of several counts."""
    account = see(None, FAILED)
    fleet = Hold("operator-fleet", Scope.FLEET, "operator", "", NOW)
    shop = fleet._replace(key="operator-project-shop", scope=Scope.PROJECT, project="shop")
    codex = fleet._replace(key="operator-engine-codex", scope=Scope.ENGINE, engine="codex")

    assert account == first_of([account], "codex", "0" * 12, "shop", NOW)
    assert first_of([account], "codex", "1" * 12, "shop", NOW) is None
    assert first_of([account], "codex", None, "shop", NOW) is None
    assert first_of([account], "codex", "0" * 12, "shop", NOW + ESTIMATE) is None
    assert shop == first_of([account, shop], "codex", "0" * 12, "shop", NOW)
    assert first_of([shop, codex], "claude-code", None, "other", NOW) is None
    assert fleet == first_of([fleet], "command", None, "x", NOW)


def test_what_cannot_be_read_holds_everybody_and_is_not_written_over():
    """It covers every engine and account, lasts until somebody acts, and a failed turn changes nothing in it."""
    bad = unreadable("codex-000000000000", "x.json: not JSON", NOW)

    assert bad == first_of([bad], "claude-code", "1" * 12, "other", NOW + 1e9)
    assert bad is see(bad, FAILED)
    assert not succeeded(bad, NOW + 1, NOW + 2)


def test_an_account_is_its_folder_and_its_keys():
    """The same for all agents that share both; no key can be read from it."""
    plain = {"HOME": "/h"}
    key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"
    one = account_of("claude-code", {**plain, "ANTHROPIC_API_KEY": key})

    assert one == account_of("claude-code", {**plain, "ANTHROPIC_API_KEY": key, "PATH": "/bin"})
    assert 4 == len({
        one,
        account_of("claude-code", plain),
        account_of("claude-code", {**plain, "CLAUDE_CONFIG_DIR": "/other"}),
        account_of("claude-code", {**plain, "ANTHROPIC_API_KEY": key[:-1] + "0"}),
    })  # fmt: skip
    assert account_of("codex", plain) == account_of("codex", {"CODEX_HOME": "/h/.codex"})
    assert account_of("command", plain) is None


LIMIT = [{"source": "hook", "event": "StopFailure", "error": "rate_limit"}]
DONE = [{"source": "hook", "event": "Stop"}]


@pytest.mark.parametrize(
    ("expected", "known"),
    [
        ((Turn.IDLE, None), {"events": DONE, "hold": "held"}),
        ((Turn.WAITING, Reason.HOLD), {"events": DONE, "hold": "held", "mail": True}),
        ((Turn.IDLE, None), {"events": DONE, "mail": True}),
        ((Turn.WAITING, Reason.HOLD), {"events": DONE, "hold": "held", "queued": True}),
        ((Turn.WAITING, Reason.HANDOFF), {"events": DONE, "queued": True}),
        ((Turn.WAITING, Reason.LIMIT), {"events": LIMIT, "hold": "held", "mail": True}),
        ((Turn.IDLE, None), {"events": LIMIT, "hold_over": True}),
        ((Turn.WAITING, Reason.HOLD), {"held": True, "hold": "held"}),
        ((Turn.STARTING, None), {"held": True}),
    ],
)
def test_what_a_hold_keeps_from_acting_waits_for_it(expected, known):
    """Idle without mail is idle; the turn that told of the limit waits for its end and may then be woken."""
    state = judge(Facts(pane=Existence.ALIVE, running=True, **known))

    assert expected == (state.turn, state.reason)
