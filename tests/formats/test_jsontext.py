"""JSON without the `json` module: the same values, the same text, the same refusals."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.formats import jsontext
from fleet.formats.states import Turn

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)
BROKEN = [
    "",
    " ",
    "{",
    "[1",
    '{"a"',
    '{"a":}',
    "[1,]",
    "nul",
    '"\n"',
    '"\\x"',
    "01",
    "-",
    "1 2",
    "{} {}",
    "\ufeff{}",
    "'a'",
    "\x00",
]


@given(VALUES)
def test_what_is_written_is_what_the_json_module_writes(value):
    """Byte for byte: one line, compact, and over several lines."""
    assert json.dumps(value) == jsontext.dumps(value)
    assert json.dumps(value, ensure_ascii=False) == jsontext.dumps(value, ascii_only=False)
    assert json.dumps(value, separators=(",", ":")) == jsontext.dumps(value, compact=True)
    assert json.dumps(value, indent=2, ensure_ascii=False) == jsontext.pretty(value)


@given(VALUES, st.sampled_from(["", " ", "\n\t "]))
def test_what_is_read_is_what_the_json_module_reads(value, space):
    """Whatever stands around it and whichever way it was written."""
    for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        assert json.loads(text) == jsontext.loads(space + text + space) == value


@given(st.text(alphabet='{}[]",:\\ue0123-+.tfn \n'))
def test_any_text_is_accepted_or_refused_as_by_the_json_module(text):
    """The same verdict, and the same value."""
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011  # the text is json's own
            jsontext.loads(text)
    else:
        assert repr(expected) == repr(jsontext.loads(text))


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_broken_is_refused_also_where_json_was_never_loaded(text):
    """With an error that says where, in an interpreter as bare as a hook's."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from fleet.formats import jsontext; jsontext.loads(sys.argv[2])"
    )
    if "\0" in text:
        code, text = code.replace("sys.argv[2]", "chr(0)"), "x"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, root, text], capture_output=True, text=True)
    assert "JSONDecodeError: " in done.stderr
    assert "char " in done.stderr


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        Turn.IDLE,
        {Turn.IDLE: Turn.GONE},
        {1: 2, None: True},
        (1, 2),
        [[]],
        {},
    ],
)
def test_odd_values_are_written_as_the_json_module_writes_them(value):
    """Enums, keys that are no strings, tuples, numbers that JSON has no word for."""
    assert json.dumps(value) == jsontext.dumps(value)
    assert json.dumps(value, indent=2) == jsontext.pretty(value)


@pytest.mark.parametrize("value", [{1, 2}, b"x", {(1, 2): 3}, object()])
def test_what_json_has_no_form_for_is_refused(value):
    """As the json module refuses it."""
    with pytest.raises(TypeError):
        json.dumps(value)
    with pytest.raises(TypeError):
        jsontext.dumps(value)
    with pytest.raises(TypeError):
        jsontext.pretty({"a": value})


def test_a_value_that_holds_itself_is_refused():
    """Instead of going round for ever."""
    value = []
    value.append(value)
    for write in (jsontext.dumps, jsontext.pretty):
        with pytest.raises(ValueError, match="Circular|deep"):
            write(value)


def test_an_interpreter_without_the_c_half_uses_the_json_module(monkeypatch):
    """With the same results."""
    parse, write, string = jsontext._from_python()
    value = {"a": [1, None, "é\n"]}
    assert value == parse(write(value, ascii_only=True, colon=":", comma=","))
    assert '"é\\n"' == string("é\n")
