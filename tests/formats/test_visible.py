"""What goes through a terminal holds no key but newline and tab."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.formats.visible import visible

KEYS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\x1b[201~rm\r", "^[[201~rm^M"), ("\x03\x00\x7f", "^C^@^?"), ("\x9b201~", r"\x9b201~"), ("\udc9b", r"\x9b"),
     ("\udcc2\udc9b", r"\x9b"), ("a\r\nb\r", "a\nb^M"), ("\ud800", "\ufffd")],
)  # fmt: skip
def test_a_control_character_becomes_visible(text, shown):
    """C0, DEL, C1 in UTF-8 and as a bare byte; a carriage return before a newline goes."""
    assert shown == visible(text)


@pytest.mark.parametrize("text", ["", "plain\n\ttext", "é 漢 \U0001f600", "\udce9"])
def test_a_text_without_any_is_the_same(text):
    """Newline, tab, any other character, and a byte of another encoding stay."""
    assert text == visible(text)


@given(st.text(st.characters(exclude_categories=[]) | st.sampled_from("\x1b\r\n\t\x9b\udcc2\udc9b\udce2\udc80")))
def test_no_text_holds_a_key(text):
    """Whatever it holds: no control character is left in its bytes, and doing it twice is doing it once."""
    shown = visible(text)
    assert not KEYS.search(shown.encode("utf-8", "surrogateescape"))
    assert not re.search("[\x80-\x9f\udc80-\udc9f]", shown)
    assert shown == visible(shown)
