"""The texts of the bindings and of the line in tmux.conf, without any tmux."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.operate import tmux_conf
from fleet.tmux import keymap
from fleet.tmux.bindings import Bound, again, quote

LINE = "run-shell -b 'fleet keys press startup'"


@pytest.mark.parametrize(("first", "second", "typed"), [
    (b"plain", b"%2", b"plain"),  # 3.5a, 3.8
    (b"%2", b"%2", b"%2"),  # the text is what stands for nothing
    (b"a %1 a %2 b b", b"a %2 b", b"a %2 b"),  # 3.3a put the text in twice
    (b"plain", None, b"plain"),  # before 3.3 there is one buffer
    (None, None, b""),  # an empty text makes no buffer
    (None, b"%2", b""),
])  # fmt: skip
def test_which_of_the_two_buffers_counts(first, second, typed):
    """The second where tmux replaced it, else the first."""
    assert typed == keymap.typed(first, second)


@pytest.mark.parametrize(
    ("version", "number"),
    [("3.2", (3, 2)), ("3.3a", (3, 3)), ("3.8", (3, 8)), ("next-3.9", (3, 9)), ("master", (99, 0))],
)
def test_versions(version, number):
    """A version without a number is newer than all."""
    assert number == keymap.number(version)


def test_a_prompt_without_braces_before_3_3():
    """3.2 knows no braced templates; `%%%` quotes what it puts in."""
    old, new = (keymap.prompt(v, "/dev/pts/1", "to whom, then", "n", "run-shell x") for v in ("3.2", "3.3a"))

    assert '-- "%%%" ; run-shell x' in old
    assert "{" not in old
    assert "'%1'" in new
    assert "'%2'" in new
    assert "to whom  then" in old  # a comma would make two prompts


@given(st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"])))
def test_a_quoted_word_is_one_word(text):
    """For tmux as for a shell, whose quotes are alike."""
    assert [text] == shlex.split(quote(text))


def test_a_note_is_given_back_with_its_binding():
    """tmux prints it only on request, so it is put in again."""
    bound = Bound("bind-key -r -T prefix F display-message x", "it's mine")

    assert "bind-key -N 'it'\"'\"'s mine' -r -T prefix F display-message x" == again(bound, "prefix", "prefix")


@given(st.none() | st.binary())
def test_the_line_comes_and_goes(text):
    """Whatever bytes the file holds; a second time changes nothing; another line takes its place."""
    if text is not None and b"# fleet-keys" in text:
        return
    once = tmux_conf.with_line(text, LINE)

    assert once == tmux_conf.with_line(once, LINE)
    assert text == tmux_conf.without_line(once)
    assert text == tmux_conf.without_line(tmux_conf.with_line(once, LINE + " F"))
    assert once.endswith(b"\n")
    assert (b"\n" + once).rpartition(b"\nrun-shell")[0].endswith(b"\\") is False


@given(st.binary(), st.binary())
def test_what_was_written_around_it_stays(text, more):
    """Lines that the user adds before or behind it are kept as they are."""
    if b"# fleet-keys" in text + more:
        return
    with_it = tmux_conf.with_line(text, LINE)

    left = tmux_conf.without_line(with_it + more)

    assert left is not None
    assert left.endswith(more)
    assert left.startswith(text)
    assert b"fleet-keys" not in left


@pytest.mark.parametrize(("name", "width", "shown"), [
    ("short", 8, "short"), ("exactly8", 8, "exactly8"), ("a-rather-long-task-name-7", 9, "a-ra…me-7"),
    ("a-rather-long-task-name-22", 12, "a-rath…me-22"),
])  # fmt: skip
def test_a_long_name_loses_its_middle(name, width, shown):
    """Numbers at its end tell tasks of one file apart."""
    from fleet.operate.pressing import shortened

    assert shown == shortened(name, width)
    assert width >= len(shown)
