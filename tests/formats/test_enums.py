"""The enums of what agents run behave as those of the standard library, as far as fleet uses them."""

import copy
import enum
import json
import pickle

import pytest

from fleet.formats import enums
from fleet.formats.states import Turn

pytestmark = pytest.mark.parametrize("module", [enums, enum], ids=["ours", "the standard library's"])


class Words:
    """The same two classes, made by either module."""

    def __init__(self, module):
        class Colour(module.StrEnum):
            """Two."""

            RED = "red"  #: a member
            BLUE = "blue"

        class Size(module.IntEnum):
            """Two."""

            SMALL = 1
            LARGE = 2

        self.Colour, self.Size = Colour, Size


@pytest.fixture
def words(module):
    """Both classes."""
    return Words(module)


def test_a_member_is_its_value(words):
    """It compares, hashes, formats, sorts and serialises as the plain value."""
    assert words.Colour.RED == "red"
    assert {"red": 1}[words.Colour.RED] == 1
    assert f"{words.Colour.RED} {words.Size.LARGE}" == "red 2"
    assert str(words.Colour.RED) == "red"
    assert type(str(words.Colour.RED)) is str
    assert json.dumps([words.Colour.RED, words.Size.LARGE]) == '["red", 2]'
    assert words.Size.LARGE > words.Size.SMALL
    assert isinstance(words.Colour.RED, words.Colour)


def test_a_member_knows_its_name_and_value(words):
    """And says both when printed for a developer."""
    assert ("RED", "red") == (words.Colour.RED.name, words.Colour.RED.value)
    assert "<Colour.RED: 'red'>" == repr(words.Colour.RED)
    assert "<Size.LARGE: 2>" == repr(words.Size.LARGE)


def test_a_value_finds_its_member(words):
    """The very same object; a value that is none is refused by name."""
    assert words.Colour("red") is words.Colour.RED
    assert words.Colour(words.Colour.RED) is words.Colour.RED
    with pytest.raises(ValueError, match="'green' is not a valid .*Colour"):
        words.Colour("green")


@pytest.mark.parametrize("value", [None, [], {}, 3.5, b"red"])
def test_what_is_no_value_finds_nothing(words, value):
    """Whatever its type, also one that has no hash."""
    with pytest.raises(ValueError, match="is not a valid .*Colour"):
        words.Colour(value)


def test_members_come_in_the_order_of_their_definition(words):
    """Each once."""
    assert [words.Colour.RED, words.Colour.BLUE] == list(words.Colour)
    assert 2 == len(words.Colour)


def test_a_copy_is_the_member_itself(words):
    """So that `is` keeps its meaning."""
    assert copy.deepcopy([words.Colour.RED])[0] is words.Colour.RED
    assert copy.copy(words.Size.LARGE) is words.Size.LARGE


def test_a_match_statement_takes_a_member_for_a_value(words):
    """Cases name members."""
    match "red":
        case words.Colour.RED:
            found = True
        case _:
            found = False
    assert found


def test_a_pickle_comes_back_as_the_member(module):
    """For what goes to another process."""
    assert pickle.loads(pickle.dumps(Turn.IDLE)) is Turn.IDLE


def test_nothing_can_be_added_or_changed(words):
    """A closed set stays closed."""
    with pytest.raises(AttributeError):
        words.Colour.RED = "green"
