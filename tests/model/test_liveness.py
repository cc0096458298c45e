"""Whether an agent gets anywhere: signs with their ages in, verdict out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.formats.states import Existence, Reason, Turn
from fleet.model.state import Facts, State
from fleet.model.liveness import NEVER, Reading, Sign, Verdict, before_its_end, liveness, unmeasured

NOW, WINDOW = 1_000_000.0, 1200.0
WORKING = State(turn=Turn.WORKING, source="hook")
OLD = NOW - WINDOW - 1
#: All measured, all long ago.
QUIET = {
    Sign.LAUNCH: Reading(NOW - 9000), Sign.HOOK: Reading(OLD), Sign.TRANSCRIPT: Reading(OLD), Sign.CPU: NEVER,
    Sign.COMMIT: Reading(note="no repository"), Sign.FILES: Reading(OLD), Sign.MILESTONE: NEVER,
    Sign.SCREEN: Reading(OLD),
}  # fmt: skip


def judged(state=WORKING, readings=(), **more):
    return liveness(state, {**QUIET, **dict(readings)}, now=NOW, stale_seconds=WINDOW, **more)


def test_a_stall_is_measured():
    """Every needed sign was looked at, and none lies inside the window."""
    found = judged()

    assert Verdict.STALLED == found.verdict
    assert "20m ago" in found.why


@pytest.mark.parametrize("sign", list(Sign))
def test_any_sign_inside_the_window_is_life(sign):
    """One is enough, whichever it is; the window's end belongs to it."""
    assert Verdict.FRESH == judged(readings={sign: Reading(NOW - WINDOW)}).verdict


@pytest.mark.parametrize("sign", [Sign.HOOK, Sign.TRANSCRIPT, Sign.SCREEN, Sign.CPU, Sign.COMMIT, Sign.FILES])
def test_without_a_needed_sign_nothing_is_known(sign):
    """What was not measured could have been the sign of life: unknown, and it says which and why; a sign that was only
    partly measured still tells of life."""
    found = judged(readings={sign: unmeasured("git did not answer")})

    assert Verdict.UNKNOWN == found.verdict
    assert (f"{sign}: git did not answer",) == found.unmeasured
    assert Verdict.FRESH == judged(readings={sign: unmeasured("cut short", NOW - 5, floored=True)}).verdict


def test_of_an_engine_without_hooks_log_and_reports_are_not_needed():
    """They cannot be had; what it shows is."""
    silent = {Sign.HOOK: unmeasured("nothing reports"), Sign.TRANSCRIPT: unmeasured("there is no log")}
    state = State(turn=Turn.UNKNOWN, source="hook", evidence="its engine does not report")

    assert Verdict.STALLED == judged(state, silent, reports=False).verdict
    assert Verdict.UNKNOWN == judged(state, {**silent, Sign.SCREEN: unmeasured("x")}, reports=False).verdict


def test_what_cannot_be_told_apart_neither_shows_life_nor_hides_a_stall():
    """A neighbour's write in a shared tree is no sign of this agent, and its absence is not needed."""
    shared = {Sign.FILES: Reading(NOW - 1, counts=False), Sign.COMMIT: unmeasured("x")._replace(counts=False)}

    assert Verdict.STALLED == judged(readings=shared).verdict


def test_a_stamp_from_the_future_is_no_sign():
    """A commit dated next year keeps nobody fresh until then; a clock that is a little ahead is forgiven."""
    assert Verdict.STALLED == judged(readings={Sign.COMMIT: Reading(NOW + 3600)}).verdict
    assert Verdict.FRESH == judged(readings={Sign.COMMIT: Reading(NOW + 5)}).verdict


def test_silence_is_as_long_as_somebody_listened():
    """A screen that was last looked at some seconds ago may have changed since: it is as still as it was then."""
    still = Reading(OLD, until=NOW - 5)

    assert Verdict.FRESH == judged(readings={Sign.SCREEN: still}).verdict
    assert Verdict.STALLED == judged(readings={Sign.SCREEN: still._replace(at=OLD - 5)}).verdict
    assert Verdict.STALLED == judged(readings={Sign.SCREEN: still._replace(until=NOW + 5)}).verdict


@pytest.mark.parametrize(
    ("state", "verdict", "whom"),
    [
        (State(turn=Turn.IDLE, source="hook"), Verdict.FINISHED, "you"),
        (State(turn=Turn.IDLE, source="hook", background=2), Verdict.FINISHED, "its 2 background tasks"),
        (State(turn=Turn.WAITING, source="hook", reason=Reason.PERMISSION), Verdict.WAITING, "you (permission)"),
        (State(turn=Turn.WAITING, source="queue", reason=Reason.HANDOFF), Verdict.WAITING, "its successor"),
        (State(turn=Turn.WAITING, source="hook", reason=Reason.LIMIT), Verdict.WAITING, "the limit to be lifted"),
        (State(turn=Turn.GONE, source="pane"), Verdict.GONE, "you"),
        (State(turn=Turn.UNKNOWN, source="pane", evidence="tmux could not be asked"), Verdict.UNKNOWN, None),
    ],
)
def test_who_waits_is_not_stalled(state, verdict, whom):
    """However long ago its last sign is: it says for whom it waits."""
    found = judged(state)

    assert (verdict, whom) == (found.verdict, found.waits_for)


def test_a_start_has_a_window_of_its_own():
    """Until it is over nothing has started yet; then it is a stall like any other; held at the gate it never is."""
    starting = State(turn=Turn.STARTING, source="launch")
    nothing = {sign: NEVER for sign in Sign}

    def at(seconds, **more):
        return judged(starting, {**nothing, Sign.LAUNCH: Reading(NOW - seconds)}, **more).verdict

    assert [Verdict.NOT_STARTED, Verdict.STALLED] == [at(WINDOW), at(WINDOW + 1)]
    assert Verdict.NOT_STARTED == at(9000, held=True)


PROMPT, STOP = {"source": "hook", "event": "UserPromptSubmit"}, {"source": "hook", "event": "Stop"}
BYE = {"source": "hook", "event": "SessionEnd", "reason": "prompt_input_exit"}


@pytest.mark.parametrize(
    ("status", "signal", "events", "expected"),
    [
        (1, None, [PROMPT], Verdict.DEAD),
        (None, 9, [PROMPT], Verdict.DEAD),
        (0, None, [PROMPT], Verdict.DEAD),  # in the middle of a turn nothing ends well
        (0, None, [BYE, PROMPT], Verdict.FINISHED),  # somebody closed it
        (143, None, [BYE, PROMPT], Verdict.DEAD),
        (1, None, [STOP, PROMPT], Verdict.FINISHED),  # its turn was over
        (None, None, [PROMPT], Verdict.UNKNOWN),  # tmux tells the status a moment later
    ],
)
def test_how_an_engine_ended_says_whether_it_died(status, signal, events, expected):
    """Dead is what ended in the middle of its work by itself, whatever its age."""
    facts = Facts(Existence.ALIVE, pane_dead=True, exit_status=status, exit_signal=signal, running=False, events=events)
    state = State(turn=Turn.EXITED, source="pane", exit_status=status, exit_signal=signal)

    assert expected == judged(state, before=before_its_end(facts, Existence.ALIVE)).verdict


READING = st.builds(
    Reading,
    at=st.none() | st.floats(0, NOW + 9000),
    measured=st.booleans(),
    floored=st.booleans(),
    counts=st.booleans(),
    until=st.none() | st.floats(0, NOW + 9000),
)


@given(
    st.dictionaries(st.sampled_from(list(Sign)), READING),
    st.sampled_from([Turn.WORKING, Turn.STARTING, Turn.COMPACTING, Turn.UNKNOWN]),
    st.booleans(),
)
def test_a_stall_never_rests_on_what_was_not_measured(readings, turn, reports):
    """Whatever the signs are: with one inside the window there is no stall, and without the needed ones neither."""
    found = liveness(
        State(turn=turn, source="hook"), readings, now=NOW, stale_seconds=WINDOW, reports=reports
    )  # fmt: skip

    if found.verdict == Verdict.STALLED:
        counted = {s: r for s, r in readings.items() if r.counts}
        assert not [r for r in counted.values() if r.at is not None and NOW - WINDOW <= r.at <= NOW]
        assert not [r for r in counted.values() if r.at is not None and 0 <= min(NOW, NOW if r.until is None else r.until) - r.at <= WINDOW]
        needed = {Sign.CPU, Sign.FILES, Sign.COMMIT, Sign.SCREEN, *([Sign.HOOK, Sign.TRANSCRIPT] if reports else [])}
        assert all(readings[s].measured or not readings[s].counts for s in needed)
