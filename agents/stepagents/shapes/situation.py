"""One failure of a run and the state that it failed in: what it costs to make two sizes equal, and how that is done.

Each change has a cost, the lower the more natural.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, TypeAlias

from stepagents.shapes.outcome import RunFailure
from stepagents.shapes.state import State, symbol_of
from stepcore.sizes.dim import Dim

_RANKS: Final = re.compile(
    r"values to unpack|out of range|dimension|must be \d|\dD\b|\d-D|too many indices|subscripts|a matrix|a vector"
    r"|\brank\b|ndim|\bdim\(\)|1D tensors|tuple index|same number of",
    re.I,
)
_TYPES: Final = re.compile(
    r"indices must be|int32/int64|\blong\b|int64|boolean|\bbool\b|predicate|scalar types|integer tensor|Integral"
    r"|floating|only implemented on|dtype|result type|class values|index_select|torch\.float32",
    re.I,
)
_VALUES: Final = re.compile(
    r"only integer tensors|converted to an index|converted to a Python|invalid combination of arguments|must be int"
    r"|an integer is required|interpreted as an integer|must be tuple of|not Tensor|not FakeTensor|must be real number"
    r"|expected int|object is not iterable"
)
_SIZES_EQUAL: Final = re.compile(
    r"must match|broadcast|same reduction dim|to match|incompatible|expected .* but got|same", re.I
)
LITERAL: Final = 10  # all sizes of symbols are larger
ArgumentDim: TypeAlias = tuple[str, int]  # an argument and one of its dimensions
_NUMBERS: Final = re.compile(r"(?<![\w.])\d+(?![\w.]*\d)")


class Situation:
    """A state and its failure. ``told`` are arguments whose sizes are written somewhere."""

    def __init__(
        self,
        state: State,
        failure: RunFailure,
        told: frozenset[str],
        examples: Mapping[str, tuple[int | None, ...]],
        alike: Sequence[tuple[ArgumentDim, ArgumentDim]] = (),
    ) -> None:
        self._state = state
        self._failure = failure
        self._told = told
        self._examples = examples
        self._alike = alike
        message = failure.message
        self._kinds = {
            "ranks": bool(_RANKS.search(message)),
            "types": bool(_TYPES.search(message)) and failure.error != "AssertionError",
            "values": bool(_VALUES.search(message))
            or failure.name in {"__index__", "__int__", "__bool__", "__float__"},
        }
        self._kinds["sizes"] = not any(self._kinds.values()) or bool(_SIZES_EQUAL.search(message))
        self._origins = list(
            dict.fromkeys(name for item in failure.operands for name in sorted(item.origins, key=self._order))
        )
        if not self._origins:
            self._origins = list(state.dims)

    @property
    def is_about_types(self) -> bool:
        """Whether the failure speaks of element types."""
        return self._kinds["types"]

    def _order(self, name: str) -> int:
        return list(self._state.dims).index(name) if name in self._state.dims else len(self._state.dims)

    def _cost(self, kind: str) -> float:
        return 0.0 if self._kinds[kind] else 2.0

    def _why(self) -> str:
        name = self._failure.name.strip("_")
        place = f"line {self._failure.line}" if self._failure.line else "the body"
        return f"{name} in {place}" if name and name not in {"get", "getitem"} else place

    @cached_property
    def _said(self) -> list[int]:
        """The numbers that the message names."""
        return [int(text) for text in _NUMBERS.findall(self._failure.message) if len(text) < 10]

    def equal(self, wanted: Sequence[tuple[int, int]]) -> State | None:
        """Return the state in which these pairs of sizes are equal, None where that cannot be."""
        return self._all_equal(wanted, 0.3)

    def _all_equal(self, wanted: Sequence[tuple[int, int]], cost: float) -> State | None:
        """Make all these pairs of sizes equal."""
        state: State | None = self._state
        sizes = [self._sizes_of(one, other) for one, other in wanted]
        for index, (left, right) in enumerate(sizes):
            if state is not None and left != right:
                before = state
                state = self._joined(state, left, right, cost if state is self._state else 0.2)
                if state is not None:
                    changed = _changes(before, state)
                    sizes[index + 1 :] = [(changed(one), changed(two)) for one, two in sizes[index + 1 :]]
        return None if state is self._state else state

    def _equal(self, one: int, other: int, cost: float) -> State | None:
        return self._all_equal([(one, other)], cost)

    def _size(self, number: int) -> Dim:
        """Return what a size of the failing tensors is made of; one that only weights have is a number."""
        if 0 <= number <= LITERAL:
            return Dim.of(number)
        having = [item for item in self._failure.operands if number in item.shape]
        origins = frozenset(name for item in having for name in item.origins)
        if having and not origins and not any(item.is_made for item in having):
            return Dim.of(number)
        shapes = [self._state.dims[name] for name in origins if name in self._state.dims]
        if any(size.constant == number for shape in shapes for size in shape):
            return Dim.of(number)
        return next(self._state.expressions(number, origins or None), Dim.of(number))

    def _sizes_of(self, one: int, other: int) -> tuple[Dim, Dim]:
        """Return what two sizes are made of; of a part of a symbol, that symbol and as many times the other size."""
        left, right = self._size(one), self._size(other)
        first, second = self._part_of(one), self._part_of(other)
        if first is not None and second is not None and first[1] == second[1]:
            return Dim.symbol(first[0]), Dim.symbol(second[0])
        if first is not None and right.constant is None:
            return Dim.symbol(first[0]), right * first[1]
        if second is not None and left.constant is None:
            return left * second[1], Dim.symbol(second[0])
        return left, right

    def _part_of(self, number: int) -> tuple[str, int] | None:
        """Return the symbol that had to be a multiple and of which a size is a part, and the number of these parts."""
        if number <= LITERAL or number in self._state.numbers.values():
            return None
        for name, multiple in self._state.multiples.items():
            whole = self._state.numbers.get(name, 0)
            if whole % number == 0 and 1 < whole // number <= multiple:
                return name, whole // number
        return None

    def _joined(self, state: State, left: Dim, right: Dim, cost: float) -> State | None:
        """Make two sizes equal, by putting one of them in the place of a symbol."""
        for size, value in sorted([(left, right), (right, left)], key=lambda pair: self._stability(pair[0])):
            name = symbol_of(size)
            if name is not None and name not in value.symbols():
                price = cost + self._price(state, name, value) + _strangeness(value)
                return state.with_size(name, value, price, (self._owner(state, name), self._why()))
        solved = _solved(left, right, "'") or _divided(left, right) or _divided(right, left)
        if solved is not None:
            name, value = solved
            price = cost + self._price(state, name, value) + _strangeness(value)
            return state.with_size(name, value, price, (self._owner(state, name), self._why()))
        ones, others = sorted(left.symbols()), sorted(right.symbols())
        if len(ones) == len(others) == 1 and ones != others:  # h//2 and w//2
            why = (self._owner(state, others[0]), self._why())
            return state.with_size(others[0], Dim.symbol(ones[0]), cost + 0.5, why)
        if len(ones) == len(others) == 2 and not set(ones) & set(others) and len(left.terms) == len(right.terms) == 1:
            order = list(state.symbols)  # h*w and i*j
            for one, other in zip(sorted(ones, key=order.index), sorted(others, key=order.index), strict=True):
                state = state.with_size(other, Dim.symbol(one), 0.1, (self._owner(state, other), self._why()))
            return replace(state, cost=state.cost + cost)
        return None

    def _stability(self, size: Dim) -> int:
        """Order what is replaced: symbols that were made up first, told ones last."""
        name = symbol_of(size)
        return 3 if name is None else 1 + ("'" not in name)

    def _price(self, state: State, name: str, value: Dim) -> float:
        """Return what it costs to contradict a text: two names for one size, or a number for a name."""
        if "'" in name:
            return 0.0
        repeated = any(
            {name, *value.symbols()} <= {s for size in shape for s in size.symbols()} for shape in state.dims.values()
        )
        return 1.0 + 2.5 * (repeated and bool(value.symbols()))

    def _owner(self, state: State, symbol: str) -> str:
        return next((name for name, shape in state.dims.items() if any(symbol in size.symbols() for size in shape)), "")


def _strangeness(size: Dim) -> float:
    """Return what it costs that a size is an expression: products are natural, sums hardly ever."""
    if symbol_of(size) is not None or size.constant is not None:
        return 0.0
    if len(size.terms) == 1:
        return 0.3
    return 0.5 if all(len(monomial) == 1 and factor == 1 for monomial, factor in size.terms) else 1.5


def _solved(left: Dim, right: Dim, made_up: str) -> tuple[str, Dim] | None:
    """Return a symbol and what it has to be for two sums to be equal: ``b`` is ``a`` where ``a + b`` is ``2*a``."""
    rest = left - right
    for monomial, factor in sorted(rest.terms, key=lambda term: not any(made_up in name for name, _ in term[0])):
        if len(monomial) != 1 or monomial[0][1] != 1 or factor not in {1, -1} or "//" in monomial[0][0]:
            continue
        name = monomial[0][0]
        value = (Dim.symbol(name) - rest) if factor == 1 else rest + Dim.symbol(name)
        is_size = value.constant is not None and value.constant > 0
        if name not in value.symbols() and (
            is_size or (value.symbols() and all(count > 0 for _, count in value.terms))
        ):
            return name, value
    return None


def _divided(size: Dim, number: Dim) -> tuple[str, Dim] | None:
    """Return a symbol and the number that it is where ``256*c`` is 768."""
    if number.constant is None or len(size.terms) != 1 or len(size.symbols()) != 1:
        return None
    ((symbols, factor),) = size.terms
    name = next(iter(size.symbols()))
    if len(symbols) != 1 or symbols[0] != (name, 1) or number.constant % factor or number.constant < factor:
        return None
    return name, Dim.of(number.constant // factor)


def _changes(before: State, after: State) -> Callable[[Dim], Dim]:
    """Return the substitution that leads from one state to the next."""
    gone = set(before.symbols) - set(after.symbols)
    pairs_of = zip(
        (size for shape in before.dims.values() for size in shape),
        (size for shape in after.dims.values() for size in shape),
        strict=True,
    )
    values = {name: new for old, new in pairs_of if (name := symbol_of(old)) is not None and name in gone}
    return lambda size: size.substitute(values.get)
