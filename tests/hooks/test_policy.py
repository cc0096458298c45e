"""When an agent hands itself off: the whole table, row by row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.formats.states import HandoffType, Mode
from fleet.formats.times import rfc3339
from fleet.formats.usage import Usage
from fleet.hooks import config
from fleet.hooks.policy import Act, Level, decide, level, precompact

WALL = 1_796_043_600.0
GREEN, YELLOW, RED = Level
FRESH = rfc3339(WALL - 1799)
STALE = rfc3339(WALL - 1800)
NOTHING = (Act.NOTHING, None)
REQUEST = (Act.REQUEST, HandoffType.YELLOW)
AT_YELLOW = (Act.PRODUCE, HandoffType.YELLOW)
AT_RED = (Act.PRODUCE, HandoffType.RED)
AGAIN_PRECOMPACT = (Act.PRODUCE, HandoffType.PRECOMPACT)


def verdict(at, kind=None, stamp=None, *, mode="execute", queued=False, milestone=False, reminded=GREEN):
    record = {"mode": mode, "handoff_type": kind, "handoff_type_at": stamp}
    return decide(
        record, at, queued=queued, milestone=milestone, reminded=reminded, wall=WALL, rerequest_seconds=1800.0
    )


@pytest.mark.parametrize(
    ("expected", "at", "kind", "stamp", "milestone"),
    [
        # nothing was asked for yet
        (NOTHING, GREEN, None, None, False),
        (REQUEST, YELLOW, None, None, False),
        (AT_RED, RED, None, None, False),
        # `manual` on a successor says how it came to be; it is no handoff of its own
        (NOTHING, GREEN, "manual", None, False),
        (REQUEST, YELLOW, "manual", None, False),
        (AT_RED, RED, "manual", None, False),
        # asked, and waiting for MILESTONE
        (NOTHING, YELLOW, "auto-yellow", FRESH, False),
        (AT_YELLOW, YELLOW, "auto-yellow", FRESH, True),
        (AT_YELLOW, YELLOW, "auto-yellow", STALE, True),
        (AT_YELLOW, GREEN, "auto-yellow", FRESH, True),
        # asked, and half an hour has passed, or nobody knows how long
        (REQUEST, YELLOW, "auto-yellow", STALE, False),
        (REQUEST, YELLOW, "auto-yellow", None, False),
        (REQUEST, YELLOW, "auto-yellow", "yesterday", False),
        (REQUEST, YELLOW, "auto-yellow", "0000-00-00T00:00:00Z", False),
        (REQUEST, YELLOW, "auto-yellow", rfc3339(WALL + 10), False),
        (REQUEST, YELLOW, "auto-yellow", "9999-12-31T23:59:59Z", False),
        # asked, and then the context was emptied, or is not known
        (NOTHING, GREEN, "auto-yellow", STALE, False),
        (NOTHING, GREEN, "auto-yellow", None, False),
        # red does not wait
        (AT_RED, RED, "auto-yellow", FRESH, False),
        (AT_RED, RED, "auto-yellow", FRESH, True),
        # committed, but nothing is queued: an earlier failure
        (AT_RED, GREEN, "auto-red", FRESH, False),
        (AT_RED, YELLOW, "auto-red", STALE, False),
        (AT_RED, RED, "auto-red", None, False),
        (AGAIN_PRECOMPACT, GREEN, "precompact", FRESH, False),
        (AGAIN_PRECOMPACT, RED, "precompact", FRESH, False),
    ],
)
def test_an_executing_agent(expected, at, kind, stamp, milestone):
    """Threshold, what is in the record and whether MILESTONE was printed decide together."""
    assert expected == verdict(at, kind, stamp, milestone=milestone)


@given(
    st.sampled_from(list(Level)),
    st.sampled_from([None, *HandoffType]),
    st.none() | st.text(),
    st.booleans(),
    st.sampled_from(list(Mode)),
)
def test_a_queued_handoff_is_enough(at, kind, stamp, milestone, mode):
    """While one waits for the drain or for the operator, nothing is asked, produced or spoken of."""
    assert NOTHING == verdict(at, kind, stamp, milestone=milestone, mode=mode, queued=True)


@pytest.mark.parametrize("mode", ["plan", "review", "fix", "something-new"])
@pytest.mark.parametrize(
    ("spoken", "at", "reminded"),
    [
        (False, GREEN, GREEN), (True, YELLOW, GREEN), (False, YELLOW, YELLOW), (True, RED, GREEN), (True, RED, YELLOW),
        (False, RED, RED), (False, YELLOW, RED), (False, GREEN, RED),
    ],
)  # fmt: skip
def test_a_thinking_agent_is_told_once_a_threshold(mode, spoken, at, reminded):
    """And is never handed off by itself, whatever its record says."""
    expected = (Act.REMIND, None) if spoken else NOTHING
    for kind in (None, *HandoffType):
        assert expected == verdict(at, kind, None, mode=mode, reminded=reminded, milestone=True)


@given(
    st.sampled_from([mode for mode in Mode if mode != "execute"]), st.sampled_from(list(Level)), st.sampled_from([None, *HandoffType]),
    st.none() | st.text(), st.booleans(), st.sampled_from(list(Level)),
)  # fmt: skip
def test_no_thinking_agent_is_ever_handed_off(mode, at, kind, stamp, milestone, reminded):
    """Those modes are the operator's own space."""
    act, _ = verdict(at, kind, stamp, mode=mode, milestone=milestone, reminded=reminded)
    assert act in (Act.NOTHING, Act.REMIND)


def usage(percent=None, tokens=0):
    return Usage(tokens or round((percent or 0) * 2000), "m", 200_000 if percent is not None else None)


@pytest.mark.parametrize(
    ("expected", "percent"),
    [(GREEN, 0.01), (GREEN, 49.9), (GREEN, 49.99), (YELLOW, 50.0), (YELLOW, 69.9), (RED, 70.0), (RED, 130.0)],
)
def test_a_threshold_is_reached_at_its_own_value(expected, percent):
    """Yellow from 50 %, red from 70 %."""
    assert expected == level(usage(percent), config.DEFAULTS)


@pytest.mark.parametrize(
    ("expected", "percent", "tokens", "yellow", "red"),
    [
        (GREEN, 10.0, 19_999, 20_000, None),
        (YELLOW, 10.0, 20_000, 20_000, None),
        (RED, 10.0, 20_000, None, 20_000),
        (RED, 10.0, 20_000, 10_000, 20_000),
        (YELLOW, 55.0, 110_000, 150_000, 180_000),
        (RED, 75.0, 150_000, 160_000, 180_000),
        (GREEN, None, 999_999, None, None),
        (YELLOW, None, 20_000, 20_000, 30_000),
        (RED, None, 30_000, 20_000, 30_000),
    ],
)
def test_thresholds_in_tokens_count_when_they_come_first(expected, percent, tokens, yellow, red):
    """Also for a model whose window nobody knows; the percentages stay in force beside them."""
    limits = {**config.DEFAULTS, "yellow_tokens": yellow, "red_tokens": red}
    assert expected == level(usage(percent, tokens), limits)


def test_an_unknown_context_is_no_full_one():
    """No usage, no action."""
    assert GREEN == level(None, config.DEFAULTS)


@pytest.mark.parametrize(
    ("expected", "trigger", "mode", "queued"),
    [
        (AGAIN_PRECOMPACT, "auto", "execute", False),
        (AGAIN_PRECOMPACT, "", "execute", False),
        (NOTHING, "manual", "execute", False),
        (NOTHING, "auto", "execute", True),
        (NOTHING, "auto", "plan", False),
        (NOTHING, "auto", "review", False),
        (NOTHING, "auto", "fix", False),
    ],
)
def test_before_a_compaction(expected, trigger, mode, queued):
    """An automatic one ends an executing agent; a manual one is the operator's doing."""
    assert expected == precompact({"mode": mode}, trigger, queued=queued)


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"[]", b'{"yellow_pct": "50", "windows": [], "drain_argv": {}, "red_tokens": "x"}']
)
def test_a_configuration_that_cannot_be_used_is_the_default(tmp_path, content):
    """Missing, unreadable, or of the wrong types: the hook works all the same."""
    path = tmp_path / "hook-config.json"
    if content is not None:
        path.write_bytes(content)
    assert config.DEFAULTS == config.load(str(path))


def test_a_configuration_is_taken_field_by_field(tmp_path):
    """What it does not say keeps its default; null removes a threshold in tokens."""
    path = tmp_path / "hook-config.json"
    path.write_text('{"yellow_pct": 40, "red_tokens": 1000, "yellow_tokens": null, "new": 1}')
    assert {**config.DEFAULTS, "yellow_pct": 40, "red_tokens": 1000} == config.load(str(path))
