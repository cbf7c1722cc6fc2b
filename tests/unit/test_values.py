"""Records: frozen, slotted, keyword-only."""

from __future__ import annotations

import pickle

import pytest

from swarm.values import Value


class Point(Value):
    x: int
    y: int = 7


class Named(Point):
    name: str
    y: int = 8


def test_fields_and_defaults_come_from_annotations_also_of_the_parent() -> None:
    """A child adds fields and may change a default."""
    assert repr(Named(x=1, name="a")) == "Named(x=1, y=8, name='a')"


@pytest.mark.parametrize("given", [{}, {"x": 1, "z": 2}])
def test_a_missing_or_unknown_field_is_refused(given: dict[str, int]) -> None:
    """A typing error in a field's name never passes silently."""
    with pytest.raises(TypeError, match="Point"):
        Point(**given)


def test_a_value_cannot_be_changed() -> None:
    """Shared between tasks of one loop, so nobody may change it in place."""
    point = Point(x=1)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    with pytest.raises(AttributeError, match="frozen"):
        point.z = 2


def test_equality_is_by_type_and_fields() -> None:
    """A child with equal fields is another thing."""
    assert Point(x=1) == Point(x=1, y=7)
    assert hash(Point(x=1)) == hash(Point(x=1, y=7))
    assert Point(x=1) != Point(x=2)
    assert Point(x=1, y=8) != Named(x=1, name="")
    assert Point(x=1) != (1, 7)


def test_replace_and_pickle_keep_all_other_fields() -> None:
    """Copies are whole."""
    named = Named(x=1, name="a").replace(x=5)
    assert pickle.loads(pickle.dumps(named)) == Named(x=5, name="a")


def test_replace_refuses_a_field_that_is_not_there() -> None:
    """As the constructor does, also for a value of a single field."""

    class Alone(Value):
        only: int

    assert Alone(only=1).replace(only=2) == Alone(only=2)
    assert len({Alone(only=1), Alone(only=1), Alone(only=2)}) == 2
    with pytest.raises(TypeError, match="Alone has no other"):
        Alone(only=1).replace(other=2)
