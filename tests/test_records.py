"""Records behave as frozen dataclasses do, without a method of their own."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from stepcore.records import Record


class Point(Record):
    """One of two fields, one of which does not count."""

    x: int
    tags: dict[str, int] = field(default_factory=dict)
    note: str = field(default="", compare=False, repr=False)
    kinds: ClassVar[int] = 2

    @cached_property
    def twice(self) -> int:
        """A value that is worked out once is no field."""
        return self.x * 2


@dataclass(frozen=True)
class Twin:
    """The same as a dataclass."""

    x: int
    tags: dict[str, int] = field(default_factory=dict)
    note: str = field(default="", compare=False, repr=False)
    kinds: ClassVar[int] = 2


class Deep(Point):
    """One with a further field."""

    z: int = 0


class Named(Record, kw_only=True):
    """One whose field is given by name."""

    name: str


class Empty(Record):
    """One without fields."""


@pytest.mark.parametrize("kind", [Point, Twin])
def test_a_record_is_what_a_frozen_dataclass_is(kind: Any) -> None:
    one = kind(1, {"a": 2})
    assert one == kind(x=1, tags={"a": 2}) == kind(1, tags={"a": 2}, note="other")
    assert one != kind(2, {"a": 2}) and one != (1, {"a": 2}) and kind(1) == kind(1)
    assert kind(1).tags is not kind(1).tags
    assert repr(one) == f"{kind.__name__}(x=1, tags={{'a': 2}})"
    assert [each.name for each in fields(one)] == ["x", "tags", "note"]
    assert replace(one, x=5) == kind(5, {"a": 2})
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 3
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x
    with pytest.raises(FrozenInstanceError):
        one.other = 3
    match one:
        case kind(x, tags):
            assert (x, tags) == (1, {"a": 2})
        case _:
            raise AssertionError("the fields are positional patterns")


@pytest.mark.parametrize("kind", [Point, Twin])
@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, {}, "", 4), {}), ((1,), {"x": 1}), ((1,), {"y": 1}), ((), {"tags": {}})]
)
def test_what_does_not_fit_the_fields_is_refused(kind: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        kind(*values, **named)


def test_records_have_no_methods_of_their_own() -> None:
    assert not {"__init__", "__eq__", "__hash__", "__repr__", "__setattr__"} & vars(Point).keys()
    assert is_dataclass(Point) and Point.__match_args__ == ("x", "tags", "note")  # type: ignore[attr-defined]


def test_records_are_values() -> None:
    point = Point(2)
    assert (point.twice, point) == (4, Point(2)), "what was worked out is not compared"
    assert Deep(1, z=3) == Deep(1, {}, "", 3) != Point(1) and Deep(1) != Point(1)
    assert len({Named(name="a"), Named(name="a"), Empty(), Empty()}) == 2 and Empty() != object()
    kind: Any = Named
    for given in ((), ("a",)):
        with pytest.raises(TypeError):
            kind(*given)
