"""Changes of sizes after a failure: which are equal, fixed, parts or multiples of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from math import lcm
from typing import Final

from stepagents.shapes.natural import (
    LABELLED,
    RESHAPES,
    SPLITTING,
    pairs,
)
from stepagents.shapes.reshaping import aligned, as_written, cut
from stepagents.shapes.situation import LITERAL, Situation
from stepagents.shapes.starting import is_weight
from stepagents.shapes.state import State, symbol_of
from stepagents.torchfn.usage import CONVOLUTIONS
from stepcore.sizes.dim import Dim

_LARGEST: Final = 1 << 16
_IMAGES: Final = (28, 32, 64, 16, 8, 224, 24, 48, 96, 128, 20, 12, 36, 40, 56, 256, 84, 100, 10, 14, 6)  # usual sizes


class SizeMoves(Situation):
    """What may be wrong with sizes."""

    def _sizes(self) -> Iterator[State]:
        base = self._cost("sizes")
        failure = self._failure
        yield from self._reshaped(base)
        yield from self._pieces()
        yield from self._asserted()
        yield from self._labelled()
        yield from self._as_in_calls(base)
        yield from self._perspective()
        yield from self._kernels(base)
        shapes = [item.shape for item in failure.operands]
        wanted = list(dict.fromkeys(pairs(failure.name, shapes, failure.numbers, failure.options, failure.text)))
        together = self._all_equal(wanted, 0.5 + base)
        if together is not None:
            yield together
        for one, other in wanted if len(wanted) > 1 else ():
            single = self._equal(one, other, 0.8 + base)
            if single is not None:
                yield single
        if not failure.name:
            yield from self._same_shapes(base)
        yield from self._named_sizes(base)
        yield from self._halves(base)
        yield from self._fixed(base)
        yield from self._divided(base)
        yield from self._any_pair(base)
        yield from self._retold()
        yield from self._images(base)

    def _reshaped(self, base: float) -> Iterator[State]:
        """Let a tensor have the sizes that it is brought into."""
        failure = self._failure
        if failure.name not in RESHAPES or len(failure.operands) != 1 or failure.is_unusual:
            return
        blocks = cut(failure.operands[0].shape, failure.numbers, failure.written)
        if len(blocks) < 2:  # a size that is cut into one block leaves a 1 that nobody wrote
            yield from as_written(self._state, failure, self._told, self._why())
        yield from self._parts(base)
        symbols = {name: blocks[size] for name, size in self._state.numbers.items() if size in blocks}
        if len(symbols) > 1:  # of a single one below
            yield self._state.with_multiples(symbols, 0.7 + base)
        for wanted in aligned(failure.operands[0].shape, failure.numbers):
            found = self._all_equal(wanted, 0.8 + base)
            if found is not None:
                yield found

    def _parts(self, base: float) -> Iterator[State]:
        """Let a size be a multiple of what it is divided by: 8 where ``d // 8`` stands beside 8."""
        failure = self._failure
        for name, size in self._state.numbers.items():
            for block in failure.written:
                if 1 < block <= 64 and size % block and size // block in failure.numbers and block in failure.numbers:
                    yield self._state.with_multiples({name: block}, 0.4 + base)

    def _perspective(self) -> Iterator[State]:
        """Let what is left of a vector be one number where its other part is divided by it: ``x[:, :2] / x[:, 2:]``."""
        operands = self._failure.operands
        if self._failure.name not in {"div", "__truediv__", "true_divide"} or len(operands) != 2:
            return
        first, rest = operands
        if first.origins == rest.origins and first.shape and rest.shape and 1 < first.shape[-1] < LITERAL:
            found = self._equal(rest.shape[-1], 1, 0.1)
            if found is not None:
                yield found

    def _asserted(self) -> Iterator[State]:
        """Make the shapes equal that an assertion compares."""
        for one, other in self._failure.asserted:
            found = self._all_equal([pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]], 0.2)
            if found is not None:
                yield found

    def _as_in_calls(self, base: float) -> Iterator[State]:
        """Make the sizes of the tensors that met equal where they are equal in all calls."""
        numbers = self._state.numbers
        wanted = []
        for places in self._alike:
            shapes = [(self._state.dims.get(name, ()), axis) for name, axis in places]
            sizes = [shape[axis] for shape, axis in shapes if axis < len(shape)]
            if len(sizes) == 2 and sizes[0] != sizes[1] and {name for name, _ in places} <= set(self._origins):
                wanted.append((sizes[0].bind(numbers), sizes[1].bind(numbers)))
        found = self._all_equal(wanted, 0.6 + base) if wanted else None
        if found is not None:
            yield found

    def _pieces(self) -> Iterator[State]:
        """Let the size that is cut have as many pieces as are unpacked: ``q, k, v = x.split(c)``, ``x.unbind(1)``."""
        failure = self._failure
        unpacked = re.search(r"values to unpack \(expected (\d+)", failure.message)
        if failure.name or failure.cut is None or not unpacked:
            return
        size, piece = failure.cut
        found = self._all_equal([(size, int(unpacked[1]) * piece)], 0.2)
        if found is not None:
            yield found

    def _labelled(self) -> Iterator[State]:
        """Let labels have the sizes of what they label, but for the classes, however both are cut and made flat."""
        operands = self._failure.operands
        if self._failure.name not in LABELLED or len(operands) < 2 or len(operands[1].origins) != 1:
            return
        (label,) = operands[1].origins
        shapes = self._state.bound()
        wanted = shapes.get(label, ())
        data = [name for name in sorted(operands[0].origins - operands[1].origins, key=self._order) if name in shapes]
        for name in data:
            if not is_weight(name) and len(shapes[name]) == len(wanted) + 1 > 2:
                found = self._all_equal(list(zip(shapes[name], wanted, strict=False)), 0.4)
                if found is not None:
                    yield found

    def _kernels(self, base: float) -> Iterator[State]:
        """Let padded kernels keep the sizes that they slide over: 3 for a padding of 1; then those without padding."""
        failure = self._failure
        ends = {item.shape[-1] for item in failure.operands if len(item.shape) > 2}
        ends |= set(failure.numbers[-1:]) if failure.name in RESHAPES else set()
        if failure.name in CONVOLUTIONS or len(ends - {1}) < 2:
            return
        slid = {name: size for name, size in failure.kernels.items() if name in self._origins}
        padded = {name: size for name, size in slid.items() if size > 1}
        for kernels, cost in ((padded, 0.3), (slid, 0.5)):
            state = self._state
            for name, size in kernels.items():
                free = [
                    symbol for each in state.dims[name][2:] if (symbol := symbol_of(each)) is not None and "'" in symbol
                ]
                for symbol in free:
                    state = state.with_size(symbol, Dim.of(size), 0.0, (name, self._why()))
            if state is not self._state:
                yield replace(state, cost=self._state.cost + cost + base)

    def _named_sizes(self, base: float) -> Iterator[State]:
        """Make sizes equal that the message names."""
        numbers = list(dict.fromkeys(number for number in self._said if number > 8))[:8]
        for index, one in enumerate(numbers):
            for other in numbers[index + 1 :]:
                found = self._equal(one, other, 1.2 + base)
                if found is not None:
                    yield found

    def _any_pair(self, base: float) -> Iterator[State]:
        sizes = list(dict.fromkeys(size for item in self._failure.operands for size in item.shape if size > 8))[:10]
        for index, one in enumerate(sizes):
            for other in sizes[index + 1 :]:
                found = self._equal(one, other, 2.6 + base)
                if found is not None:
                    yield found

    def _same_shapes(self, base: float) -> Iterator[State]:
        """Let two tensors that the function looked at have equal shapes."""
        yield from self._same_ranks(base)
        shapes = list(dict.fromkeys(item.shape for item in self._failure.operands))
        for index, one in enumerate(shapes):
            for other in shapes[index + 1 :]:
                if len(one) == len(other):
                    found = self._all_equal(list(zip(one, other, strict=True)), 1.0 + base)
                    if found is not None:
                        yield found

    def _same_ranks(self, base: float) -> Iterator[State]:
        """Let an argument that nothing tells have the shape of another tensor that was looked at."""
        for one in self._failure.operands:
            for other in self._failure.operands:
                names = sorted(other.origins - self._told) if other.is_argument else []
                if len(one.shape) != len(other.shape) and names and names[0] in self._state.dims:
                    dims = {**self._state.dims, names[0]: tuple(self._size(size) for size in one.shape)}
                    reasons = (*self._state.reasons, (names[0], self._why()))
                    yield replace(self._state, dims=dims, cost=self._state.cost + 1.6 + base, reasons=reasons)

    def _retold(self) -> Iterator[State]:
        """Do not believe what is written of one argument but its number of dimensions."""
        for name in self._origins:
            shape = self._state.dims.get(name, ())
            if name in self._told and any(symbol_of(size) is None or "'" not in str(size) for size in shape):
                fresh = self._state.with_new_sizes(name, len(shape), 0.0, "")
                reasons = (*self._state.reasons, (name, self._why()))
                yield replace(fresh, cost=self._state.cost + 1.9 + self._cost("sizes"), reasons=reasons)

    def _fixed(self, base: float) -> Iterator[State]:
        """Let a size be a number: one of a weight, one that stands in the call or the failing line, or an example."""
        failure = self._failure
        weights = [size for item in failure.operands if not item.origins and not item.is_made for size in item.shape]
        sizes = set(self._state.numbers.values())
        written = [*failure.numbers, *failure.written]
        products = [one * other for one in written for other in written if one > 1 and other > 1]
        priced = (
            [(number, 0.9) for number in weights]
            + [(number, 1.5) for number in written]
            + [(number, 2.0) for number in self._said]
        )
        priced += [(number, 2.4) for number in products]
        seen: set[int] = set()
        for number, cost in priced:
            if number in seen or number in sizes or not 1 < number <= _LARGEST:
                continue
            if number > LITERAL and self._state.symbols_in(number):  # a smaller one is no size but what is written
                continue
            seen.add(number)
            for symbol in self._concerned:
                why = (self._owner(self._state, symbol), self._why())
                yield self._state.with_size(
                    symbol, Dim.of(number), cost + base + self._price(self._state, symbol, Dim.of(number)), why
                )
            if len(seen) > 12:
                break
        for name in self._origins:
            for size, example in zip(self._state.dims.get(name, ()), self._examples.get(name, ()), strict=False):
                free = symbol_of(size)
                if free is not None and example is not None:
                    yield self._state.with_size(free, Dim.of(example), 2.0 + base, (name, self._why()))
        for symbol in self._concerned:
            yield self._state.with_size(symbol, Dim.of(1), 3.5 + base, (self._owner(self._state, symbol), self._why()))

    def _images(self, base: float) -> Iterator[State]:
        """Try usual sizes of images and signals where a weight wants a number that follows them."""
        if all(item.origins or item.is_made for item in self._failure.operands):
            return
        for name in self._origins:
            free = [symbol for size in self._state.dims.get(name, ())[2:] if (symbol := symbol_of(size)) is not None]
            if not free or name in self._told:
                continue
            for index, number in enumerate(_IMAGES):
                state = self._state
                for symbol in free:
                    state = state.with_size(symbol, Dim.of(number), 0.0, (name, self._why()))
                yield replace(state, cost=self._state.cost + 2.0 + 0.05 * index + base)

    @cached_property
    def _concerned(self) -> list[str]:
        """The symbols that the sizes of the failing tensors are made of."""
        found: list[str] = []
        for item in self._failure.operands:
            for size in item.shape:
                inside = self._state.symbols_in(size)
                found += inside
                if not inside and size > 8:  # made of sizes in a way that cannot be told
                    shapes = [self._state.dims[name] for name in sorted(item.origins) if name in self._state.dims]
                    found += [name for shape in shapes for each in shape for name in sorted(each.symbols())]
        found += [name for number in self._said for name in self._state.symbols_in(number)]
        if not found:
            sizes = [size for name in self._origins for size in self._state.dims.get(name, ())]
            found = [name for size in sizes for name in sorted(size.symbols())]
        return list(dict.fromkeys(found))

    def _halves(self, base: float) -> Iterator[State]:
        """Let a size be even whose halves met: ``x[..., ::2]`` and ``x[..., 1::2]``."""
        for name, size in self._state.numbers.items():
            half = {size // 2, size - size // 2}
            if size % 2 and half <= {each for item in self._failure.operands for each in item.shape}:
                yield self._state.with_multiples({name: 2}, 0.3 + base)

    def _divided(self, base: float) -> Iterator[State]:
        """Let a symbol be a multiple of a number that the call or the failing line names."""
        failure = self._failure
        splits = failure.name in SPLITTING or not failure.name or "divisible" in failure.message
        numbers = (*failure.numbers, *failure.written)
        factors = [n for n in numbers if 1 < n <= LITERAL or (n <= 1024 and not self._state.symbols_in(n))]
        factors = list(dict.fromkeys(n for n in factors if n > 1))[:8]
        for symbol in self._concerned:
            now = self._state.multiples.get(symbol, 1)
            told = [(factor, 0.7 if splits else 1.6) for factor in factors]
            for factor, cost in [*told, (2, 1.8), (4, 2.4), (12, 3.0)]:
                multiple = lcm(now, factor)
                if multiple != now and multiple <= 4096:
                    yield self._state.with_multiples({symbol: factor}, cost + base)
