"""A long text is cut where a line ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.formats.whole_lines import cut


@pytest.mark.parametrize(
    ("text", "kept"),
    [("", ("", 0, 0)), ("abcdefgh", ("abcdefgh", 0, 0)), ("abc\ndef\nghi", ("abc\ndef", 1, 3)),
     ("abcdefgh\nx", ("abcdefgh", 1, 1)), ("abc defghi\nx", ("abc", 2, 9)), ("abcdefghij", ("abcdefgh", 1, 2))],
)  # fmt: skip
def test_it_is_cut_at_a_line_then_a_blank_then_anywhere(text, kept):
    """At most eight characters here, and what was left out is counted."""
    assert kept == cut(text, 8)


@given(st.text("ab \n", max_size=60), st.integers(1, 20))
def test_what_is_kept_is_the_beginning_and_fits(text, characters):
    """Never more than asked for, and nothing of it is made up."""
    kept, lines, left = cut(text, characters)

    assert len(kept) <= characters
    assert text.startswith(kept)
    assert (kept == text) == (lines == 0)
    assert left <= len(text) - len(kept)
