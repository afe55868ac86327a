"""One guess of all arguments: sizes as expressions of symbols, element types, plain values. No torch here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from math import lcm, prod
from typing import Final

from stepcore.records import Record
from stepcore.sizes.dim import Dim, DimError

# Sizes of symbols while solving: primes, so that a number tells which symbols it is made of; none is near another
# (31 - 2 would be 29) or half of one (23 of 47), and the half of each is larger than the numbers that people write. The
# first arguments have the larger ones, because windows come after what they slide over; small ones keep loops over them
# short.
_PRIMES: Final = (
    23, 29, 37, 43, 53, 61, 67, 79, 89, 97, 103, 109, 127, 137, 151, 163, 181, 191, 197, 223, 229, 239, 251, 257, 263,
    271, 277, 283, 293, 307, 313, 331, 337, 347, 353, 359, 367, 373, 379, 397, 409, 419, 431, 439, 449,
)  # fmt: skip
_SMALL: Final = (13, 19, 17, 11)  # sizes of kernels
_FARTHEST: Final = 8  # what is added to a size: margins, paddings


class State(Record):
    """Guesses, what they cost (the less natural, the more), and why they were made.

    ``multiples`` are numbers that divide symbols; ``tolerant`` are arguments whose number of dimensions may be unusual.
    """

    dims: Mapping[str, tuple[Dim, ...]]
    dtypes: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, object] = field(default_factory=dict)
    multiples: Mapping[str, int] = field(default_factory=dict)
    tolerant: frozenset[str] = frozenset()
    cost: float = 0.0
    twins: tuple[frozenset[str], ...] = ()  # arguments of which a text says that they have the same shape
    kernels: frozenset[str] = frozenset()  # arguments that slide over others: their last sizes are small
    doubted: frozenset[int] = frozenset()  # lines of which a comment is not believed
    reasons: tuple[tuple[str, str], ...] = ()  # (argument, what its sizes were found by)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """All symbols, in the order of the arguments."""
        return tuple(self.uses)

    @cached_property
    def uses(self) -> Counter[str]:
        """How many sizes each symbol stands in, in the order of the arguments."""
        return Counter(name for sizes in self.dims.values() for size in sizes for name in sorted(size.symbols()))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The size of each symbol while solving."""
        primes = _PRIMES[: len(self.symbols)][::-1]
        ordered = sorted(self.symbols, key=lambda name: not name.lower().startswith("max"))  # what others stay below
        sizes = {name: primes[index % len(primes)] for index, name in enumerate(ordered)}
        slid = (size for argument in self.kernels for size in self.dims.get(argument, ())[2:])
        small = dict.fromkeys(name for size in slid if (name := symbol_of(size)) is not None)
        sizes |= dict(zip((name for name in self.symbols if name in small), _SMALL, strict=False))
        return {name: sizes[name] * self.multiples.get(name, 1) for name in self.symbols}

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Equal for guesses that are the same."""
        return (
            tuple(sorted((name, tuple(map(str, sizes))) for name, sizes in self.dims.items())),
            tuple(sorted(self.dtypes.items())),
            tuple(sorted((name, repr(value)) for name, value in self.values.items())),
            tuple(sorted(self.multiples.items())),
            self.tolerant,
            self.doubted,
        )

    def bound(self, sizes: Mapping[str, int] | None = None) -> dict[str, tuple[int, ...]]:
        """Return the shapes at ``sizes``, those of solving unless given.

        Raises:
            DimError: an expression has no value there.
        """
        numbers = self.numbers if sizes is None else sizes
        return {name: tuple(size.bind(numbers) for size in shape) for name, shape in self.dims.items()}

    def with_size(self, symbol: str, size: Dim, cost: float, why: tuple[str, str]) -> State:
        """Return the state in which ``symbol`` is ``size``."""

        def put(name: str) -> Dim | None:
            return size if name == symbol else None

        dims = {name: tuple(each.substitute(put) for each in shape) for name, shape in self.dims.items()}
        multiples = {name: number for name, number in self.multiples.items() if name != symbol}
        other = symbol_of(size)
        if symbol in self.multiples and other is not None:
            multiples[other] = lcm(self.multiples[symbol], multiples.get(other, 1))
        return replace(self, dims=dims, multiples=multiples, cost=self.cost + cost, reasons=(*self.reasons, why))

    def with_multiples(self, multiples: Mapping[str, int], cost: float) -> State:
        """Return the state in which symbols are also multiples of these numbers."""
        found = {name: lcm(self.multiples.get(name, 1), number) for name, number in multiples.items()}
        return replace(self, multiples={**self.multiples, **found}, cost=self.cost + cost)

    def with_rank(self, argument: str, rank: int, cost: float, why: str, *, place: int = 0) -> State:
        """Return the state in which an argument has ``rank`` dimensions: new ones come at ``place``."""
        old = self.dims[argument]
        kept = old[max(len(old) - rank, 0) :] if rank else ()
        new = tuple(Dim.symbol(self.fresh(argument, index)) for index in range(rank - len(kept)))
        alike = next((names for names in self.twins if argument in names), (argument,))
        return replace(
            self,
            dims={**self.dims, **dict.fromkeys(alike, (*kept[:place], *new, *kept[place:]))},
            cost=self.cost + cost,
            reasons=(*self.reasons, (argument, why)),
        )

    def with_new_sizes(self, argument: str, rank: int, cost: float, why: str) -> State:
        """Return the state in which an argument has ``rank`` dimensions of which nothing is known."""
        return self.with_rank(argument, 0, cost, why).with_rank(argument, rank, 0.0, why)

    def fresh(self, argument: str, index: int) -> str:
        """Return a symbol that nothing uses."""
        used = set(self.symbols)
        return next(name for number in range(1000) if (name := f"{argument}'{index}'{number}") not in used)

    def expressions(self, number: int, among: frozenset[str] | None = None) -> Iterator[Dim]:
        """Yield sizes that are ``number`` now: a symbol, a product, a multiple, a sum; the simplest first.

        ``among`` are arguments whose symbols may stand in sums.
        """
        numbers = self.numbers
        for name, size in numbers.items():
            if size == number:
                yield Dim.symbol(name)
                return
        shapes = [shape for name, shape in self.dims.items() if among is None or name in among]
        known = {symbol for shape in shapes for size in shape for symbol in size.symbols()}
        coefficient, names = self._factors(number) or (1, [])
        product = prod((Dim.symbol(name) for name in names), start=Dim.of(coefficient))
        if names and known.issuperset(names):
            yield product
            return
        numbers = {name: size for name, size in numbers.items() if name in known}
        for index, (name, size) in enumerate(numbers.items()):
            for other in list(numbers)[index:]:
                if size + numbers[other] == number:
                    yield Dim.symbol(name) + Dim.symbol(other)
        if names:  # by chance: of sizes that the tensor has not
            yield product
            return
        near = [
            (abs(number - factor * size), factor, name)
            for factor in (1, 2)
            for name, size in numbers.items()
            if 0 < abs(number - factor * size) <= _FARTHEST
        ]
        near.sort(key=lambda item: item[0])
        parts = [
            Dim.symbol(name) // count + rest
            for name, size in numbers.items()
            for count in (2, 4)
            for rest in (0, 1)
            if size % count and size // count + rest == number
        ]
        close = sum(distance <= 2 for distance, _, _ in near)  # margins are mostly as small as this
        sums = [Dim.symbol(name) * factor + (number - factor * numbers[name]) for _, factor, name in near]
        yield from (*sums[:close], *parts, *sums[close:])

    def _factors(self, number: int) -> tuple[int, list[str]] | None:
        """Split a number into sizes of symbols and a small rest."""
        names: list[str] = []
        for name, size in sorted(self.numbers.items(), key=lambda item: -item[1]):
            while number % size == 0 and number and len(names) < 8:
                number //= size
                names.append(name)
        return (number, sorted(names)) if number <= 1024 else None

    def symbols_in(self, number: int) -> list[str]:
        """Return the symbols that a size is made of."""
        return list(dict.fromkeys(name for size in self.expressions(number) for name in sorted(size.symbols())))


def symbol_of(size: Dim) -> str | None:
    """Return the name of a size that is one symbol."""
    return str(size) if size.is_symbol else None


def is_possible(state: State) -> bool:
    """Whether all sizes are positive integers."""
    try:
        return all(0 < size <= 1 << 24 for shape in state.bound().values() for size in shape)
    except DimError:
        return False
