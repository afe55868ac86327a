"""Loops and affine indices over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from stepcore.sizes.dim import Dim, exact_quotient


class NotAffine(Exception):
    """An index that no affine read of the available loops expresses.

    ``origin`` is the graph node that it is about, ``advice`` what a user may do.
    """

    origin = ""
    advice = "write it with other reshapes or slices, or choose sizes that divide each other"


class ProgramTooLarge(NotAffine):
    """A program that grows beyond what anybody wants, or that cannot be run to verify it."""

    advice = "give smaller sizes (--dims, get_inputs() or the arguments of the module), or lower it in several parts"


class NeedSplit(Exception):
    """An index that would be affine if the loop ``key`` were two, the inner one of size ``inner``.

    ``more`` rounds is the loop longer before, so that it can be split: what they compute is left out.
    """

    def __init__(self, key: Hashable, inner: Dim, more: int = 0) -> None:
        super().__init__(f"{key} by {inner}")
        self.key = key
        self.inner = inner
        self.more = more


@dataclass(frozen=True, eq=False, slots=True)
class Axis:
    """One loop: ``key`` says where it comes from, equal in every attempt to lower the same function."""

    name: str
    size: Dim
    key: Hashable


@dataclass(frozen=True, slots=True)
class Affine:
    """``const`` plus the sum of coefficient times loop counter; terms are in the order of their first use."""

    terms: tuple[tuple[Axis, Dim], ...] = ()
    const: Dim = field(default_factory=lambda: Dim.of(0))

    @staticmethod
    def of(value: Axis | Dim | int) -> Affine:
        """Return a loop counter or a constant as an index."""
        if isinstance(value, Axis):
            return Affine(((value, Dim.of(1)),))
        return Affine((), Dim.of(value))

    def axes(self) -> Iterable[Axis]:
        """The loops that this index depends on."""
        return (axis for axis, _ in self.terms)

    def __add__(self, other: Affine | Dim | int) -> Affine:
        other = other if isinstance(other, Affine) else Affine.of(other)
        sums: dict[Axis, Dim] = {}
        for axis, factor in (*self.terms, *other.terms):
            sums[axis] = sums.get(axis, Dim.of(0)) + factor
        return Affine(tuple((axis, factor) for axis, factor in sums.items() if factor != 0), self.const + other.const)

    def __sub__(self, other: Affine | Dim | int) -> Affine:
        other = other if isinstance(other, Affine) else Affine.of(other)
        return self + other * -1

    def __mul__(self, factor: Dim | int) -> Affine:
        if factor == 0:
            return Affine()
        return Affine(tuple((axis, scale * factor) for axis, scale in self.terms), self.const * factor)

    def replaced(self, substitute: Callable[[Axis], Affine | None]) -> Affine:
        """Return the index with each loop replaced by what ``substitute`` gives for it, unless that is None."""
        result = Affine((), self.const)
        for axis, factor in self.terms:
            other = substitute(axis)
            result = result + (Affine.of(axis) if other is None else other) * factor
        return result


Index: TypeAlias = tuple[Affine, ...]


class BoundSizes:
    """What sizes are bound to at the trace; decisions that need numbers are made with them."""

    def __init__(self, bindings: Mapping[str, int]) -> None:
        self.bindings = dict(bindings)

    def of(self, size: Dim | int) -> int:
        """Return the number that ``size`` is."""
        return size if isinstance(size, int) else size.bind(self.bindings)

    def span(self, index: Affine) -> tuple[Dim, Dim]:
        """Return the least and the greatest value of ``index`` as expressions."""
        low = high = index.const
        for axis, factor in index.terms:
            reach = factor * (axis.size - 1)
            if self.of(factor) > 0:
                high = high + reach
            else:
                low = low + reach
        return low, high

    def within(self, index: Affine, size: Dim) -> bool:
        """Return whether ``index`` stays in ``0 .. size - 1``, at other sizes than the trace's, too."""
        low, high = self.span(index)
        return self.excess(-low) == 0 and self.excess(high - size + 1) == 0

    def excess(self, size: Dim) -> Dim:
        """Return how far above zero ``size`` may get whatever its symbols are bound to; 0 where it never does.

        Where no number bounds it, it is itself if it is positive at the sizes of the trace.
        """
        bound = size.bound_above()
        if not bound.symbols():
            return Dim.of(max(0, bound.floor()))
        return size if self.of(size) > 0 else Dim.of(0)

    def divided(self, index: Affine, divisor: Dim, *, grows: bool = False) -> tuple[Affine, Affine]:
        """Return quotient and remainder of ``index`` by ``divisor``, both affine.

        ``grows``: the loop of a result may become longer for that; the surplus is computed and left out.

        Raises:
            NeedSplit: a loop has to become two first.
            NotAffine: no split helps.
        """
        if divisor == 1:
            return index, Affine()
        high, low = _parts(index, divisor)
        if self.within(low, divisor):
            return high, low
        for axis, factor in low.terms:
            inner = exact_quotient(divisor, factor)
            if inner is None or not inner.is_integral:
                continue
            size, chunk = self.of(axis.size), self.of(inner)
            if 1 < chunk < size and size % chunk == 0:
                raise NeedSplit(axis.key, inner)
        if grows and low.const == 0 and len(low.terms) == 1 and low.terms[0][1] == 1:
            axis = low.terms[0][0]
            more = -self.of(axis.size) % self.of(divisor)
            whole = exact_quotient(axis.size + more, divisor)
            if is_result(axis.key) and whole is not None and whole.is_integral:
                raise NeedSplit(axis.key, divisor, more)
        raise NotAffine(f"an index is divided by {divisor}, and its loops cannot be split so that this is exact")


def is_result(key: Hashable) -> bool:
    """Whether a loop is that of a whole dimension of a result: the host may leave some of its rounds out."""
    return isinstance(key, tuple) and key[:1] == ("result",)


def _parts(index: Affine, divisor: Dim) -> tuple[Affine, Affine]:
    high: list[tuple[Axis, Dim]] = []
    low: list[tuple[Axis, Dim]] = []
    for axis, factor in index.terms:
        quotient = exact_quotient(factor, divisor)
        if quotient is not None and quotient.is_integral:
            high.append((axis, quotient))
        else:
            low.append((axis, factor))
    quotient = exact_quotient(index.const, divisor)
    if quotient is not None and quotient.is_integral:
        return Affine(tuple(high), quotient), Affine(tuple(low))
    if index.const.constant is not None and divisor.constant is not None:
        whole, rest = divmod(index.const.constant, divisor.constant)
        return Affine(tuple(high), Dim.of(whole)), Affine(tuple(low), Dim.of(rest))
    return Affine(tuple(high)), Affine(tuple(low), index.const)


class Splits:
    """Which loops are two (or more): key -> size of the inner part. Keys of parts are the key with a letter."""

    def __init__(self, known: Splits | None = None) -> None:
        self._inner: dict[Hashable, Dim] = dict(known._inner) if known is not None else {}
        self._more: dict[Hashable, int] = dict(known._more) if known is not None else {}

    def add(self, need: NeedSplit) -> None:
        """Note that a loop has to be split."""
        self._inner[need.key] = need.inner
        if need.more:
            self._more[need.key] = need.more

    def more(self, key: Hashable) -> int:
        """Return how many rounds longer a loop is than what it is for, so that it can be split."""
        return self._more.get(key, 0)

    def inner(self, key: Hashable) -> Dim | None:
        """Return the size of the inner one of two loops, None where there is one loop."""
        return self._inner.get(key)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._inner

    def loops(self, name: str, size: Dim, key: Hashable) -> tuple[Affine, tuple[Axis, ...]]:
        """Return the index that the loops for ``size`` make up, and these loops, outermost first."""
        inner = self._inner.get(key)
        if inner is None:
            axis = Axis(name, size, key)
            return Affine.of(axis), (axis,)
        outer_index, outer = self.loops(f"{name}o", size // inner, (key, "o"))
        inner_index, within = self.loops(f"{name}i", inner, (key, "i"))
        return outer_index * inner + inner_index, (*outer, *within)
