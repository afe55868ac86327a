"""Sizes that another algebra writes, such as sympy's symbols and expressions, read by their structure.

Nothing is imported: an expression says what it is (``is_Symbol``, ``is_Add``, ``is_Mul``, ``is_Pow``, ``is_Rational``)
and of what (``args``), as sympy's do. Published programs use its symbols as sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, Self, TypeVar

_MOST: Final = 500  # parts of one expression
_DEEPEST: Final = 50
_HIGHEST: Final = 16  # power of a size


class ForeignSizeError(TypeError):
    """An expression that is no size; the message says which part."""


def is_foreign(value: object) -> bool:
    """Whether ``value`` looks like an expression of another algebra: a class attribute says so, nothing is called."""
    return hasattr(kind := type(value), "is_Symbol") and isinstance(kind.is_Symbol, bool)


class SizeLike(Protocol):
    """A size of ours, as far as reading needs it."""

    def __add__(self, other: Self, /) -> Self: ...

    def __mul__(self, other: Self, /) -> Self: ...

    def __floordiv__(self, other: Self, /) -> Self: ...

    @property
    def constant(self) -> int | None:
        """The integer that it is, or None."""


N = TypeVar("N", bound=SizeLike)


@dataclass(frozen=True, slots=True)
class Algebra(Generic[N]):
    """How sizes are made: of a number, of a name, as an exact whole quotient (None where there is none).

    ``error`` is what their arithmetic raises.
    """

    of: Callable[[int], N]
    symbol: Callable[[str], N]
    quotient: Callable[[N, N], N | None]
    error: type[Exception]


def read(value: Any, algebra: Algebra[N]) -> N:
    """Return a foreign expression as a size.

    Raises:
        ForeignSizeError: it holds something besides symbols, whole numbers, ``+``, ``-``, ``*``, powers and ``//``.
    """
    exact = algebra.quotient(*_Reader(algebra).fraction(value, 0))
    if exact is None:
        raise ForeignSizeError(f"{_shown(value)} is no size, for it may be no whole number; write // for a division")
    return exact


class _Reader(Generic[N]):
    """Reads one expression as a fraction of two sizes."""

    def __init__(self, algebra: Algebra[N]) -> None:
        self._algebra = algebra
        self._parts = 0

    def fraction(self, value: Any, depth: int) -> tuple[N, N]:
        self._parts += 1
        if self._parts > _MOST or depth > _DEEPEST:
            raise ForeignSizeError(f"a size of more than {_MOST} parts cannot be handled")
        of = self._algebra.of
        one = of(1)
        try:
            if isinstance(value, int) and not isinstance(value, bool):
                return of(value), one
            if not is_foreign(value):
                raise ForeignSizeError(f"{value!r} is no size")
            if value.is_Symbol:
                return self._symbol(value), one
            if value.is_Rational:
                return of(int(value.p)), of(int(value.q))
            return self._compound(value, depth)
        except self._algebra.error as error:
            raise ForeignSizeError(str(error)) from error

    def _compound(self, value: Any, depth: int) -> tuple[N, N]:
        of = self._algebra.of
        parts = [self.fraction(part, depth + 1) for part in tuple(value.args)[:_MOST]]
        top, bottom = parts[0] if parts else (of(0), of(1))
        if value.is_Add:
            for numerator, divisor in parts[1:]:
                top, bottom = top * divisor + numerator * bottom, bottom * divisor
            return top, bottom
        if value.is_Mul:
            for numerator, divisor in parts[1:]:
                top, bottom = top * numerator, bottom * divisor
            return top, bottom
        if value.is_Pow and len(parts) == 2:
            power = parts[1][0].constant
            if parts[1][1].constant == 1 and power is not None and abs(power) <= _HIGHEST:
                return (self._power(top, power), self._power(bottom, power)) if power >= 0 else (
                    self._power(bottom, -power), self._power(top, -power)
                )  # fmt: skip
        if type(value).__name__ == "floor" and len(parts) == 1:
            return top // bottom, of(1)
        raise ForeignSizeError(f"{_shown(value)} is no size; sizes are made of symbols, whole numbers, +, -, * and //")

    def _symbol(self, value: Any) -> N:
        name = value.name
        if not isinstance(name, str) or not name.isidentifier():
            raise ForeignSizeError(f"a size is named like a variable, and this symbol is named {_shown(name)}")
        return self._algebra.symbol(name)

    def _power(self, size: N, power: int) -> N:
        result = self._algebra.of(1)
        for _ in range(power):
            result = result * size
        return result


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
