"""Timestamps: one form is written, every RFC 3339 form is read, nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.formats import times

MOMENTS = st.floats(0, 253_402_300_000)  # 1970 to 9999


def test_a_stamp_has_this_form():
    """UTC, whole seconds, `Z`; with milliseconds in event lines; compact in file names."""
    wall = 1_796_043_600.5
    expected = ("2026-11-30T13:00:00Z", "2026-11-30T13:00:00.500Z", "20261130-130000")
    assert expected == (times.rfc3339(wall), times.rfc3339_ms(wall), times.compact(wall))


@given(MOMENTS)
def test_a_stamp_is_read_back_to_its_second(wall):
    """Whole seconds, rounded down."""
    assert int(wall) == times.parse(times.rfc3339(wall))


@given(MOMENTS)
def test_a_stamp_with_milliseconds_is_read_back_to_its_millisecond(wall):
    """Never later than the moment, and by less than two milliseconds earlier (floats)."""
    assert -0.001 < wall - times.parse(times.rfc3339_ms(wall)) < 0.002


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (0.25, "1970-01-01T00:00:00.25Z"),
        (0.123456789, "1970-01-01T00:00:00.123456789Z"),
        (-3600, "1970-01-01T00:00:00+01:00"),
        (5400, "1970-01-01T00:00:00-01:30"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_483_228_800, "2016-12-31T23:59:60Z"),
    ],
)
def test_any_form_of_rfc_3339_is_read(seconds, text):
    """Fractions, other zones, leap days and leap seconds."""
    assert abs(seconds - times.parse(text)) < 1e-6


@pytest.mark.parametrize(
    "text",
    [
        None, 0, 1.5, True, [], "", "soon", "2026-11-30", "2026-11-30T13:00:00", "2026-11-30 13:00:00Z",
        "2026-11-30T13:00:00z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-30T00:00:00Z",
        "2025-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "0000-01-01T00:00:00Z", "2026-11-30T24:00:00Z",
        "2026-11-30T13:60:00Z", "2026-11-30T13:00:61Z", "2026-11-30T13:00:00+25:00", "2026-11-30T13:00:00Z\n",
        " 2026-11-30T13:00:00Z", "２０２６-11-30T13:00:00Z", "20261130T130000Z", "10000-01-01T00:00:00Z",
        "2026-11-30T13:00:00.Z",
    ],
)  # fmt: skip
def test_anything_else_is_no_time(text):
    """Also what only looks like one: no exception, no guess."""
    assert times.parse(text) is None


@given(st.text() | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", fullmatch=True))
def test_no_text_breaks_the_reader(text):
    """A number or None, whatever another program wrote."""
    found = times.parse(text)
    assert found is None or isinstance(found, float)
