"""Indices, their division, and the splitting of loops."""

from __future__ import annotations

import pytest

from stepagents.lower.affine import Affine, Axis, BoundSizes, NeedSplit, NotAffine, Splits
from stepcore.sizes.dim import Dim

M = Dim.symbol("M")
SIZES = BoundSizes({"M": 12, "K": 5})


def axis(name: str, size: Dim | int) -> Axis:
    return Axis(name, Dim.of(size), name)


def test_indices_add_and_cancel() -> None:
    i, j = axis("i", 4), axis("j", 3)
    index = Affine.of(i) * 3 + Affine.of(j) - 2
    assert index.const == -2
    assert dict(index.terms) == {i: Dim.of(3), j: Dim.of(1)}
    assert (index - Affine.of(j)).terms == ((i, Dim.of(3)),)
    assert index * 0 == Affine()


def test_the_span_is_symbolic() -> None:
    i, j = axis("i", M), axis("j", 3)
    low, high = SIZES.span(Affine.of(i) * 2 - Affine.of(j) + 1)
    assert low == -1
    assert high == 2 * M - 1
    assert SIZES.within(Affine.of(i), M)
    assert not SIZES.within(Affine.of(i) + 1, M)
    assert not SIZES.within(Affine.of(i) - 1, M)


def test_a_row_major_index_is_divided_into_its_parts() -> None:
    i, j = axis("i", 7), axis("j", M)
    quotient, remainder = SIZES.divided(Affine.of(i) * M + Affine.of(j), M)
    assert quotient == Affine.of(i)
    assert remainder == Affine.of(j)


def test_constants_are_divided_downwards() -> None:
    i = axis("i", 2)
    quotient, remainder = SIZES.divided(Affine.of(i) * 4 - 3, Dim.of(4))
    assert quotient == Affine.of(i) - 1
    assert remainder == Affine.of(Dim.of(1))


def test_a_loop_is_split_where_that_makes_a_division_exact() -> None:
    with pytest.raises(NeedSplit) as found:
        SIZES.divided(Affine.of(axis("i", 12)), Dim.of(4))
    assert (found.value.key, found.value.inner) == ("i", Dim.of(4))
    splits = Splits()
    splits.add(found.value)
    index, (outer, inner) = splits.loops("i", Dim.of(12), "i")
    assert (outer.size, inner.size) == (Dim.of(3), Dim.of(4))
    assert SIZES.divided(index, Dim.of(4)) == (Affine.of(outer), Affine.of(inner))


def test_parts_are_split_again() -> None:
    splits = Splits()
    splits.add(NeedSplit("i", Dim.of(6)))
    splits.add(NeedSplit(("i", "i"), Dim.of(2)))
    index, axes = splits.loops("i", Dim.of(12), "i")
    assert [axis.size for axis in axes] == [Dim.of(2), Dim.of(3), Dim.of(2)]
    assert [factor for _, factor in index.terms] == [Dim.of(6), Dim.of(2), Dim.of(1)]


@pytest.mark.parametrize("offset", [1, -1])
def test_no_split_helps_an_index_that_crosses(offset: int) -> None:
    with pytest.raises(NotAffine):
        SIZES.divided(Affine.of(axis("i", 4)) + offset, Dim.of(4))
