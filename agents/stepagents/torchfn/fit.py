"""Numbers of several traces as one expression of the symbols: 64 at D=16 and 132 at D=33 is ``4*D``.

Each candidate is an exact statement about all traces, so one that fits them all at sizes without small common factors
is no coincidence in practice; a verified program does not rest on it, since it is run at further sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import isclose
from typing import Final

from stepcore.dim import Dim, DimError

_MOST_FACTORS: Final = 4
_DIVISORS: Final = range(2, 17)
_POWERS: Final = (-1.0, -0.5, 0.5, 1.0, -0.25, 0.25, -2.0, 2.0)
_LARGEST_DENOMINATOR: Final = 64
Bindings = Sequence[Mapping[str, int]]


def fit_size(values: Sequence[int], bindings: Bindings, context: Iterable[Dim] = ()) -> Dim | None:
    """Return the expression that has ``values[i]`` under ``bindings[i]``, the simplest that is found, or None.

    ``context`` are sizes of the operation's inputs: they, their products and quotients are tried first.
    """
    if len(set(values)) == 1:
        return Dim.of(values[0])
    for candidate in _candidates(values, bindings, list(dict.fromkeys(context))):
        if _is(candidate, values, bindings):
            return candidate
    return None


def fit_scalar(values: Sequence[float], bindings: Bindings) -> str | None:
    """Return the expression of ``NAME_value`` that has ``values[i]`` under ``bindings[i]``, or None."""
    for base in _monomials(bindings[0]):
        numbers = [base.bind(sizes) for sizes in bindings]
        for power in _POWERS:
            factor = values[0] / numbers[0] ** power
            if all(isclose(factor * n**power, v, rel_tol=1e-12) for n, v in zip(numbers, values, strict=True)):
                return _scalar_text(factor, base, power)
    return None


def _candidates(values: Sequence[int], bindings: Bindings, context: list[Dim]) -> Iterator[Dim]:
    symbols = [Dim.symbol(name) for name in bindings[0]]
    yield from symbols
    yield from (size for size in context if size.constant is None)
    for count in range(2, len(context) + 1):
        for start in range(len(context) - count + 1):
            yield _product(context[start : start + count])
    for base in _monomials(bindings[0]):
        yield from _linear(base, values, bindings)
    for left, right in combinations([*symbols, *context], 2):
        yield from _linear(left + right, values, bindings)
        yield from _linear(left * right, values, bindings)
        yield from _linear(left - right, values, bindings)
    for symbol in symbols:
        yield from _floors(symbol, values, bindings)
    for left, right in combinations(context, 2):
        yield left // right if _is(left // right, values, bindings) else right // left


def _monomials(symbols: Iterable[str]) -> Iterator[Dim]:
    names = list(symbols)
    for count in range(1, _MOST_FACTORS + 1):
        for chosen in combinations_with_replacement(names, count):
            yield _product([Dim.symbol(name) for name in chosen])


def _linear(base: Dim, values: Sequence[int], bindings: Bindings) -> Iterator[Dim]:
    """Yield ``(a*base + b)//d`` through the first two traces at which ``base`` differs, if ``a/d`` is simple."""
    numbers = [base.bind(sizes) for sizes in bindings]
    other = next((index for index, number in enumerate(numbers) if number != numbers[0]), None)
    if other is None:
        return
    slope = Fraction(values[other] - values[0], numbers[other] - numbers[0])
    offset = values[0] - slope * numbers[0]
    scale = slope.denominator
    if slope == 0 or scale > _LARGEST_DENOMINATOR or (offset * scale).denominator != 1:
        return
    if any(slope * number + offset != value for number, value in zip(numbers, values, strict=True)):
        return
    whole = offset.numerator // offset.denominator
    rest = offset - whole
    yield (base * slope.numerator + int(rest * scale)) // scale + whole


def _floors(symbol: Dim, values: Sequence[int], bindings: Bindings) -> Iterator[Dim]:
    """Yield ``(size + c)//d + b``: what windows with a stride leave."""
    for divisor in _DIVISORS:
        for shift in range(divisor):
            base = (symbol + shift) // divisor
            yield base + (values[0] - base.bind(bindings[0]))


def _is(candidate: Dim, values: Sequence[int], bindings: Bindings) -> bool:
    try:
        return all(candidate.bind(sizes) == value for sizes, value in zip(bindings, values, strict=True))
    except DimError:
        return False


def _product(sizes: Sequence[Dim]) -> Dim:
    result = Dim.of(1)
    for size in sizes:
        result = result * size
    return result


def _scalar_text(factor: float, base: Dim, power: float) -> str:
    value = str(base.substitute(lambda name: Dim.symbol(f"{name}_value")))
    value = value if value.isidentifier() else f"({value})"
    nearest = round(factor)
    number = str(nearest) if nearest and isclose(factor, nearest, rel_tol=1e-12) else repr(factor)
    if power == 1.0:
        return f"{number} * {value}"
    if power == -1.0:
        return f"{number} / {value}"
    text = f"{value} ** {power:g}"
    return text if number == "1" else f"{number} * {text}"
