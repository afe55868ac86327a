"""Numbers of several traces as one expression of the symbols: 64 at D=16 and 132 at D=33 is ``4*D``.

Each candidate is an exact statement about all traces, so one that fits them all at sizes without small common factors
is no coincidence in practice; a verified program does not rest on it, since it is run at further sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from math import isclose
from typing import Final

from stepagents.traced.graph import size_text
from stepcore.sizes.dim import Dim, DimError

_MOST_FACTORS: Final = 4
_MOST_NEIGHBOURS: Final = 5
_DIVISORS: Final = range(2, 17)
_POWERS: Final = (-1.0, -0.5, 0.5, 1.0, -0.25, 0.25, -2.0, 2.0)
_LARGEST_DENOMINATOR: Final = 64
Bindings = Sequence[Mapping[str, int]]


def fit_size(
    values: Sequence[int], bindings: Bindings, context: Iterable[Dim] = (), steps: Iterable[int] = ()
) -> Dim | None:
    """Return the expression that has ``values[i]`` under ``bindings[i]``, the simplest that is found, or None.

    ``context`` are sizes of the operation's inputs, tried before others; ``steps`` numbers among its arguments, by
    one of which a window moves.
    """
    if len(set(values)) == 1:
        return Dim.of(values[0])
    sizes = [size for size in context if size.constant is None]
    for candidate in _candidates(values, bindings, sizes, [step for step in _DIVISORS if step in set(steps)]):
        if _is(candidate, values, bindings):
            return candidate
    return None


def fit_scalar(values: Sequence[float], bindings: Bindings, context: Iterable[Dim] = ()) -> str | None:
    """Return the expression of ``NAME_value`` that has ``values[i]`` under ``bindings[i]``, or None.

    ``context`` are sizes of the operation's inputs and results, as for :func:`fit_size`.
    """
    sizes = [size for size in context if size.constant is None]
    for base in dict.fromkeys((*_monomials(bindings[0]), *sizes, *_neighbours(sizes))):
        numbers = [base.bind(sizes) for sizes in bindings]
        for power in _POWERS:
            factor = values[0] / numbers[0] ** power
            if all(isclose(factor * n**power, v, rel_tol=1e-12) for n, v in zip(numbers, values, strict=True)):
                return _scalar_text(factor, base, power)
    return None


def _candidates(values: Sequence[int], bindings: Bindings, sizes: Sequence[Dim], steps: Sequence[int]) -> Iterator[Dim]:
    """Yield candidates, simple ones first; ``sizes`` are those of the inputs in order, equal ones several times."""
    symbols = [Dim.symbol(name) for name in bindings[0]]
    context = list(dict.fromkeys(sizes))
    products = list(_neighbours(sizes))
    yield from (*context, *symbols, *products)
    for base in (*context, *_monomials(bindings[0]), *products):
        yield from _linear(base, values, bindings)
    for base in context:
        yield from _floors(base, values, bindings, steps)
    pairs = list(combinations([*symbols, *(size for size in context if size not in symbols)], 2))
    for left, right in pairs:
        yield from _linear(left + right, values, bindings)
        yield from _linear(left - right, values, bindings)
        yield from _linear(left * right, values, bindings)
    for left, right in permutations(context, 2):
        yield left // right
    for step in _DIVISORS:
        for base in (*context, *symbols):
            yield from _floors(base, values, bindings, [step])
    for left, right in product(products, (*context, *products)):
        yield left // right


def _neighbours(sizes: Sequence[Dim]) -> Iterator[Dim]:
    """Yield what sizes side by side multiply to, such as the places of an image whose height is its width."""
    seen: set[Dim] = set()
    for count in range(2, min(len(sizes), _MOST_NEIGHBOURS) + 1):
        for start in range(len(sizes) - count + 1):
            found = _product(sizes[start : start + count])
            if found not in seen:
                seen.add(found)
                yield found


def _monomials(symbols: Iterable[str]) -> Iterator[Dim]:
    names = list(symbols)
    for count in range(1, _MOST_FACTORS + 1):
        for chosen in combinations_with_replacement(names, count):
            yield _product([Dim.symbol(name) for name in chosen])


def _linear(base: Dim, values: Sequence[int], bindings: Bindings) -> Iterator[Dim]:
    """Yield ``a*base//d + b`` with an exact division that passes through all traces."""
    numbers = [base.bind(sizes) for sizes in bindings]
    other = next((index for index, number in enumerate(numbers) if number != numbers[0]), None)
    if other is None:
        return
    slope = Fraction(values[other] - values[0], numbers[other] - numbers[0])
    offset = values[0] - slope * numbers[0]
    whole = slope.denominator == 1 or all(number % slope.denominator == 0 for number in numbers)
    if slope != 0 and offset.denominator == 1 and whole and slope.denominator <= _LARGEST_DENOMINATOR:
        yield base * slope.numerator // slope.denominator + offset.numerator


def _floors(base: Dim, values: Sequence[int], bindings: Bindings, steps: Sequence[int]) -> Iterator[Dim]:
    """Yield ``(base + c)//d + b``: what windows that move by ``d`` leave."""
    for step in steps:
        for shift in range(step):
            quotient = (base + shift) // step
            yield quotient + (values[0] - quotient.bind(bindings[0]))


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
    value = size_text(base)
    value = value if value.isidentifier() else f"({value})"
    nearest = round(factor)
    number = str(nearest) if nearest and isclose(factor, nearest, rel_tol=1e-12) else repr(factor)
    if power == 1.0:
        return f"{number} * {value}"
    if power == -1.0:
        return f"{number} / {value}"
    text = f"{value} ** {power:g}"
    return text if number == "1" else f"{number} * {text}"
