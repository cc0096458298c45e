"""The named tuples of fleet behave as those of `typing`, as far as fleet uses them."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from fleet.formats import tuples
from fleet.model.orders import WorktreeWish

pytestmark = pytest.mark.parametrize("module", [tuples, typing], ids=["ours", "the standard library's"])


@pytest.fixture
def Point(module):
    """A class with everything that fleet's have."""

    class Point(module.NamedTuple):
        """A place."""

        x: int
        y: int = 2
        name: NotThere | None = None  # an annotation is a text that nobody evaluates

        @property
        def sum(self) -> int:
            """Of both."""
            return self.x + self.y

        def moved(self, by: int) -> Point:
            """Another one."""
            return self._replace(x=self.x + by)

        @classmethod
        def origin(cls) -> Point:
            """The first one."""
            return cls(0, 0)

    return Point


def test_it_is_a_tuple_with_names(Point):
    """It unpacks, compares and hashes as the plain tuple, and says its fields."""
    x, y, name = point = Point(1)
    assert (1, 2, None) == point == (x, y, name)
    assert hash(point) == hash((1, 2, None))
    assert isinstance(point, tuple) and issubclass(Point, tuple)
    assert ("x", "y", "name") == Point._fields
    assert {"y": 2, "name": None} == Point._field_defaults
    assert {"x": 1, "y": 2, "name": None} == point._asdict()
    assert point.__match_args__ == ("x", "y", "name")


def test_a_field_is_given_by_place_or_name(Point):
    """One without a default must be given, one that is not there is refused."""
    assert Point(1, name="n") == Point(x=1, y=2, name="n")
    for wrong in ((), {"z": 1}, (1, 2, 3, 4)):
        with pytest.raises(TypeError):
            Point(**wrong) if isinstance(wrong, dict) else Point(*wrong)


def test_it_cannot_be_changed(Point):
    """Another one is made instead."""
    point = Point(1)
    with pytest.raises(AttributeError):
        point.x = 2
    with pytest.raises(AttributeError):
        point.other = 2
    assert (3, 2, None) == point.moved(2)


def test_it_keeps_what_stands_in_its_body(Point):
    """Properties, class methods, docstrings, and where it was defined."""
    assert (3, (0, 0, None)) == (Point(1).sum, Point.origin())
    assert "A place." == Point.__doc__
    assert (__name__, "Point") == (Point.__module__, Point.__name__)
    assert Point.__qualname__.endswith("<locals>.Point")
    assert "Point(x=1, y=2, name=None)" == repr(Point(1))
    assert ["x", "y", "name"] == list(Point.__annotations__)


def test_a_class_may_be_made_from_it(Point):
    """And has its fields."""

    class Named(Point):
        """One more."""

    assert (1, 5, None) == Named(1, y=5)


def test_a_field_without_a_default_stands_first(module):
    """As in the arguments of a function."""
    with pytest.raises(TypeError):

        class Wrong(module.NamedTuple):
            """The order is wrong."""

            x: int = 1
            y: int


def test_a_copy_and_a_pickle_are_equal(module):
    """For what goes to another process."""
    wish = WorktreeWish("b", confirmed="c")
    assert wish == copy.deepcopy(wish) == pickle.loads(pickle.dumps(wish))
    assert type(pickle.loads(pickle.dumps(wish))) is WorktreeWish
