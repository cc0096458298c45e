"""What may become part of a path, a session name or an argv."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import UsageError
from fleet.formats import ids

HOSTILE = [
    "", ".", "..", "../x", "x/..", "/", "a/b", "a\\b", "-x", "--project", ".hidden", ".locks", "archive", "queue", "all",
    "A", "Fix-Login", "ä", "a b", "a\n", "\na", "a\0", "a:b", "a=b", "a;b", "$(x)", "`x`", "~", "*", "%3", "a'", 'a"',
    "___", "-", "_", "a" * 65, "１２", "а", None, 7, True, ["a"], b"a",
]  # fmt: skip


def test_a_new_id_is_eight_lower_case_hex_digits():
    """And hardly ever the same one twice."""
    made = [ids.new_id() for _ in range(200)]
    assert all(re.fullmatch("[0-9a-f]{8}", one) for one in made)
    assert 200 == len(set(made))


@given(st.from_regex(r"[0-9a-f]{8}", fullmatch=True))
def test_a_session_name_gives_its_id_back(agent_id):
    """`fleet-<id>`, there and back."""
    assert "fleet-" + agent_id == ids.session_name(agent_id)
    assert agent_id == ids.id_of_session(ids.session_name(agent_id))


@pytest.mark.parametrize(
    "name",
    ["", "fleet-", "fleet-main", "a1b2c3d4", "fleet-a1b2c3d", "fleet-a1b2c3d45", "fleet-A1B2C3D4", "xfleet-a1b2c3d4",
     "fleet-fleet-a1b2c3d4", "fleet-a1b2c3d4\n", "fleet-a1b2c3d4-popup"],
)  # fmt: skip
def test_another_session_is_none_of_ours(name):
    """A session that a person named is never taken for an agent's."""
    assert ids.id_of_session(name) is None


@pytest.mark.parametrize(
    "text", ["a1b2c3d", "a1b2c3d45", "A1B2C3D4", "g1b2c3d4", "a1b2c3d4\n", "../a1b2c", "１２３４５６７８", *HOSTILE]
)
def test_what_is_no_id_is_no_id(text):
    """An id is checked before it becomes a path, whatever its type."""
    assert not ids.is_id(text)


@pytest.mark.parametrize("text", ["fix-login", "a", "0", "v1.2", "a_b-c.d", "_x", "coord-web", "a" * 64, "a..b"])
def test_a_name_of_lower_case_letters_digits_and_marks_is_a_name(text):
    """Letters, digits, `-`, `_` and `.`, up to 64 of them."""
    assert text == ids.check_slug("task", text)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_is_no_name(text):
    """Nothing that a path, a flag, a shell, tmux or a lock file's name could misread."""
    assert not ids.is_slug(text)


@given(st.text() | st.text(st.sampled_from("ab01._-/ \n\0"), max_size=8))
def test_a_name_is_one_plain_component_of_a_path(text):
    """Whatever passes stays in its folder, is no flag, is not hidden, and is the same on any file system."""
    if ids.is_slug(text):
        assert re.fullmatch(r"[a-z0-9_][a-z0-9._-]*", text)
        assert text.lower() == text
        assert len(text) <= 64


def test_a_refused_name_is_told_what_would_do():
    """The message names the text and the kind, the hint the rule."""
    with pytest.raises(UsageError, match="'Fix Login' cannot be a task name") as caught:
        ids.check_slug("task", "Fix Login")
    assert "lower-case letters" in caught.value.hint


def test_a_name_that_looks_like_an_id_is_refused():
    """Ids outrank names, so it could never be addressed."""
    with pytest.raises(UsageError, match="looks like an agent id"):
        ids.check_slug("project", "deadbeef")


def test_a_new_uuid_is_a_random_one_of_version_4():
    """As the uuid module reads it, and another each time."""
    made = {ids.new_uuid() for _ in range(100)}
    assert 100 == len(made)
    assert {(4, uuid.RFC_4122)} == {(uuid.UUID(text).version, uuid.UUID(text).variant) for text in made}
    assert made == {str(uuid.UUID(text)) for text in made}
