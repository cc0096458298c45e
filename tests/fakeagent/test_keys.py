"""From bytes to keys, and what the composer makes of them."""

from hypothesis import given
from hypothesis import strategies as st

import pytest

from fleet.fakeagent.composer import Composer
from fleet.fakeagent.keys import Decoder, Key
from fleet.fakeagent.width import cells, cut, printable, wrap


def keys(*reads):
    decoder = Decoder()
    return [key for read in reads for key in decoder.feed(read)] + decoder.flush()


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ([b"hi\r"], [Key("text", "hi"), Key("enter")]),
        ([b"\r"], [Key("enter")]),
        ([b"a\rb\r"], [Key("text", "a\nb"), Key("enter")]),
        ([b"a\nb"], [Key("text", "a\nb")]),
        ([b"\x1b"], [Key("escape")]),
        ([b"\x1b\x1b"], [Key("escape"), Key("escape")]),
        ([b"\x1b", b"[A"], [Key("up")]),
        ([b"\x1b[B\x1b[1;5C"], [Key("down"), Key("other")]),
        ([b"\x03\x03"], [Key("ctrl-c"), Key("ctrl-c")]),
        ([b"a\x7f"], [Key("text", "a"), Key("backspace")]),
        ([b"\x1b[200~a\r\nb\tc\x1b[201~\r"], [Key("paste", "a\nb    c"), Key("enter")]),
        ([b"\x1b[200~par", b"t\x1b[20", b"1~"], [Key("paste", "part")]),
        ([b"\x1b[200~\x1b[A\x1b[201~"], [Key("paste", "\x1b[A")]),
        (["é日".encode()[:3], "é日".encode()[3:]], [Key("text", "é"), Key("text", "日")]),
    ],
)
def test_bytes_become_keys(reads, expected):
    """Whatever the borders of the reads are."""
    assert expected == keys(*reads)


@given(st.text(alphabet=st.characters(exclude_characters="\r\t\x1b", exclude_categories=["Cs"])), st.data())
def test_a_paste_survives_any_split(text, data):
    """A bracketed paste is one key with all of its text, however the terminal cuts it up."""
    raw = b"\x1b[200~" + text.encode() + b"\x1b[201~"
    at = data.draw(st.integers(0, len(raw)))

    assert [Key("paste", text)] == keys(raw[:at], raw[at:])


@given(st.binary(max_size=40))
def test_no_bytes_break_the_decoder(raw):
    """Garbage is keys as well, and nothing stays behind."""
    decoder = Decoder()
    decoder.feed(raw)
    decoder.flush()

    assert not decoder.waits_for_more or b"\x1b[200~" in raw


def test_a_long_paste_is_shown_as_a_chip_and_sent_in_full():
    """More than three lines, or 800 characters."""
    composer = Composer()
    composer.type("see: ")
    composer.paste("1\n2\n3\n4\n")
    composer.paste("x" * 801)
    composer.type(" end \n")

    assert "see: [Pasted text #1 +4 lines][Pasted text #2] end \n" == composer.shown
    assert "see: 1\n2\n3\n4\n" + "x" * 801 + " end" == composer.take()
    assert "" == composer.shown


def test_a_short_paste_is_text():
    """Three lines and 800 characters are still shown."""
    composer = Composer()
    composer.paste("1\n2\n" + "x" * 700)

    assert composer.shown.startswith("1\n2\nxxx")


@pytest.mark.parametrize(
    ("key", "left"),
    [("backspace", "one two\nthree fou"), ("ctrl-w", "one two\nthree "), ("ctrl-u", "one two\n")],
)
def test_erasing(key, left):
    """A character, a word, a line."""
    composer = Composer()
    composer.type("one two\nthree four")
    composer.erase(key)

    assert left == composer.shown


def test_a_second_ctrl_u_takes_the_line_break():
    """So that a text of several lines can be cleared with it."""
    composer = Composer()
    composer.type("a\nb")
    for _ in range(3):
        composer.erase("ctrl-u")

    assert "" == composer.shown


@given(st.text(max_size=60), st.integers(4, 20))
def test_wrapped_rows_fit_and_lose_nothing(text, columns):
    """No row is wider than the screen, and together they are the text."""
    rows = wrap(text, columns)

    assert all(cells(row) <= columns for row in rows)
    assert text.replace("\n", "") == "".join(rows).replace("\n", "")


def test_wide_characters_take_two_cells():
    """CJK and emoji are wide, combining marks take nothing."""
    assert 4 == cells("日本")
    assert 1 == cells("e\u0301")
    assert "日" == cut("日本", 3)


@given(st.text())
def test_nothing_printable_moves_the_cursor(text):
    """Control characters never reach the screen."""
    assert all(char == "\n" or char == "\u00a0" or char.isprintable() for char in printable(text))
