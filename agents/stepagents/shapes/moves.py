"""What may be changed of a guess after a run failed: read from the error, the tensors that met, and whose they are.

Each move has a cost, the lower the more natural: what the error names costs least, what only happens to help most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import lcm
from typing import Final, TypeAlias

from stepagents.shapes.natural import (
    GATHERED,
    INDICES,
    INTERCEPT,
    JOINING,
    LABELLED,
    RANKS,
    RESHAPES,
    SPLITTING,
    TERMS,
    pairs,
)
from stepagents.shapes.outcome import Failure, Operand
from stepagents.shapes.reshaping import aligned, as_written, cut
from stepagents.shapes.starting import is_weight
from stepagents.shapes.state import State, symbol_of
from stepagents.torchfn.usage import CONVOLUTIONS
from stepcore.sizes.dim import Dim

_HIGHEST_RANK: Final = 6
_LARGEST: Final = 1 << 16
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
_IMAGES: Final = (28, 32, 64, 16, 8, 224, 24, 48, 96, 128, 20, 12, 36, 40, 56, 256, 84, 100, 10, 14, 6)  # usual sizes
_LITERAL: Final = 10  # all sizes of symbols are larger
Place: TypeAlias = tuple[str, int]  # an argument and one of its dimensions
_NUMBERS: Final = re.compile(r"(?<![\w.])\d+(?![\w.]*\d)")


class Moves:
    """The moves from one state after one failure. ``told`` are arguments whose sizes are written somewhere."""

    def __init__(
        self,
        state: State,
        failure: Failure,
        told: frozenset[str],
        examples: Mapping[str, tuple[int | None, ...]],
        alike: Sequence[tuple[Place, Place]] = (),
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

    def all(self) -> Iterator[State]:
        """Yield states that differ in one respect."""
        yield from self._ranks()
        yield from self._intercepts()
        yield from self._weights_of_sums()
        yield from self._sizes()
        yield from self.types()
        yield from self._values()

    def _order(self, name: str) -> int:
        return list(self._state.dims).index(name) if name in self._state.dims else len(self._state.dims)

    def _cost(self, kind: str) -> float:
        return 0.0 if self._kinds[kind] else 2.0

    def _why(self) -> str:
        name = self._failure.name.strip("_")
        place = f"line {self._failure.line}" if self._failure.line else "the body"
        return f"{name} in {place}" if name and name not in {"get", "getitem"} else place

    # ---- numbers of dimensions

    def _ranks(self) -> Iterator[State]:
        seen: set[tuple[str, int]] = set()
        for operand, wanted, cost in self._wanted_ranks():
            for name in sorted(operand.origins, key=self._order):
                if name not in self._state.dims:
                    continue
                now = len(self._state.dims[name])
                rank = wanted if operand.is_argument else now + wanted - len(operand.shape)
                if rank == now or not 0 <= rank <= _HIGHEST_RANK or (name, rank) in seen:
                    continue
                seen.add((name, rank))
                yield from self._together(operand, name, rank, cost)
                own = 6.0 if name in self._told else 0.0
                extra = (0.0 if operand.is_argument else 0.3) + 1.2 * (rank == 0)
                if self._failure.promised and rank < now:  # what the line takes last is the vector: tanh(x @ w) @ v
                    extra += 0.2 * sum(self._order(other) > self._order(name) for other in operand.origins)
                price = cost + own + extra + self._cost("ranks")
                yield self._ranked(self._state, name, rank, price)
                if rank > now and name not in self._told and any(size.constant for size in self._state.dims[name]):
                    yield self._state.with_new_sizes(name, rank, price - 0.1, self._why())  # a number of another place
        if self._failure.promised:  # a text may be old
            doubted = self._state.doubted | {self._failure.promised}
            yield replace(self._state, doubted=doubted, cost=self._state.cost + 3.5)
        elif self._failure.is_unusual:
            names = frozenset(name for item in self._failure.operands for name in item.origins)
            told = 0.2 if names and names <= self._told else 3.0  # one text says nothing of another argument
            yield replace(self._state, tolerant=self._state.tolerant | names, cost=self._state.cost + told)

    def _ranked(self, state: State, name: str, rank: int, cost: float) -> State:
        """Return the state with another number of dimensions; what was found before a comment told it is void."""
        if self._failure.promised and name not in self._told:
            return state.with_new_sizes(name, rank, cost, self._why())
        return state.with_rank(name, rank, cost, self._why(), place=self._failure.place)

    def _together(self, operand: Operand, name: str, rank: int, cost: float) -> Iterator[State]:
        """Let all data that a tensor was computed from have one more dimension, the same number as before."""
        others = [each for each in sorted(operand.origins, key=self._order) if each in self._state.dims]
        ranks = {len(self._state.dims[each]) for each in others}
        plain = not any(is_weight(each) or each in self._told for each in others)
        if name == others[0] and len(others) > 1 and len(ranks) == 1 and plain and rank > ranks.pop():
            state = self._state
            for each in others:
                state = self._ranked(state, each, rank, 0.0)
            yield replace(state, cost=self._state.cost + cost + 0.2 + self._cost("ranks"))

    def _wanted_ranks(self) -> Iterator[tuple[Operand, int, float]]:
        failure, message = self._failure, self._failure.message
        operands = failure.operands
        natural = RANKS.get(failure.name, ())
        for operand, rank in zip(operands, natural, strict=False):
            if rank is not None and rank != len(operand.shape):
                yield operand, rank, 0.5
        if failure.is_unusual:
            if "expected" in message:
                yield from ((item, failure.numbers[0], 0.5) for item in operands if len(operands) == 1)
            return
        equation = re.search(r"equation \((\d+)\).*operand (\d+)", message)
        if equation and int(equation[2]) < len(operands):
            yield operands[int(equation[2])], int(equation[1]), 0.3
            return
        if failure.name in JOINING | GATHERED:  # what was given a dimension for this has now as many as the others
            ranks = [len(item.shape) for item in operands if not item.is_placed]
            yield from ((item, ranks[0], 0.3) for item in operands if item.is_placed and len(set(ranks)) == 1)
        for operand in dict.fromkeys(reversed(operands)):
            yield from ((operand, rank, cost) for rank, cost in self._read_ranks(len(operand.shape)))
            for step, cost in ((1, 1.4), (-1, 2.2), (2, 2.4), (3, 4.0), (-2, 4.0)):
                yield operand, len(operand.shape) + step, cost

    def _read_ranks(self, rank: int) -> Iterator[tuple[int, float]]:
        """Yield numbers of dimensions that the error or its line names, for a tensor of ``rank``."""
        failure, message = self._failure, self._failure.message
        written = [number for number in failure.written if 0 <= number <= _HIGHEST_RANK]
        unpacked = re.search(r"values to unpack \(expected (?:at least )?(\d+)", message)
        axis = re.search(r"but got (-?\d+)\)?", message) if "out of range" in message else None
        lengths = re.search(r"len\(dims\) = (\d+)", message)
        if unpacked and not failure.name:
            yield int(unpacked[1]), 0.3
        elif lengths:
            yield int(lengths[1]), 0.3
        elif axis:
            number = int(axis[1])
            yield number + 1 if number >= 0 else -number, 0.4
        elif "tuple index" in message or "list index" in message:
            yield from ((number + 1, 0.5) for number in written if number + 1 > rank)
        mentioned = {int(number) for number in re.findall(r"(\d)-?D\b", message)}
        if mentioned:
            yield max(mentioned), 0.6
            yield from ((number, 1.2) for number in mentioned)
        if failure.error == "AssertionError" or not failure.name:
            yield from ((number, 1.2) for number in written if number != rank)

    def _intercepts(self) -> Iterator[State]:
        """Let what is added to one number per sample be a number: ``x @ w + b`` with a vector ``w``."""
        operands = self._failure.operands
        if self._failure.name not in TERMS or not any(self._is_per_sample(item) for item in operands):
            return
        for item in operands:
            for name in item.origins if item.is_argument and len(item.shape) == 1 else ():
                if INTERCEPT.match(name) and name in self._state.dims and name not in self._told:
                    yield self._state.with_rank(name, 0, 0.2, self._why())

    def _weights_of_sums(self) -> Iterator[State]:
        """Let a weight be a vector where its product is added to one number per sample: ``x @ w + (x * x).sum(1)``."""
        operands = self._failure.operands
        if self._failure.name not in TERMS or len(operands) != 2:
            return
        large, small = sorted(operands, key=lambda item: -len(item.shape))
        if len(large.shape) != 2 or large.shape[:1] != small.shape or small.is_argument:
            return
        for name in sorted(large.origins - self._told, key=self._order):
            dims = self._state.dims.get(name, ())
            if len(dims) == 2 and is_weight(name) and dims[1].bind(self._state.numbers) == large.shape[1]:
                changed = {**self._state.dims, name: dims[:1]}
                reasons = (*self._state.reasons, (name, self._why()))
                yield replace(self._state, dims=changed, cost=self._state.cost + 0.3, reasons=reasons)

    def _is_per_sample(self, item: Operand) -> bool:
        """Whether a computed vector is of the data's first size: a vector of weights took the others."""
        if item.is_argument or not item.shape or (len(item.shape) > 1 and item.shape[-1] != item.shape[-2]):
            return False
        weights = [name for name in item.origins if is_weight(name)]
        symbol = symbol_of(self._size(item.shape[-1]))
        shapes = {
            name: shape for name, shape in self._state.dims.items() if any(symbol in size.symbols() for size in shape)
        }
        leads = all(
            not is_weight(name) and all(symbol not in size.symbols() for size in shape[1:])
            for name, shape in shapes.items()
        )
        by_vector = any(len(self._state.dims.get(name, ())) == 1 for name in weights)
        return bool(shapes) and leads and (by_vector or len(item.shape) > 1)

    # ---- sizes

    @cached_property
    def _said(self) -> list[int]:
        """The numbers that the message names."""
        return [int(text) for text in _NUMBERS.findall(self._failure.message) if len(text) < 10]

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

    def equal(self, wanted: Sequence[tuple[int, int]]) -> State | None:
        """Return the state in which these pairs of sizes are equal, None where that cannot be."""
        return self._all_equal(wanted, 0.3)

    def _perspective(self) -> Iterator[State]:
        """Let what is left of a vector be one number where its other part is divided by it: ``x[:, :2] / x[:, 2:]``."""
        operands = self._failure.operands
        if self._failure.name not in {"div", "__truediv__", "true_divide"} or len(operands) != 2:
            return
        first, rest = operands
        if first.origins == rest.origins and first.shape and rest.shape and 1 < first.shape[-1] < _LITERAL:
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
        if 0 <= number <= _LITERAL:
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
        if number <= _LITERAL or number in self._state.numbers.values():
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

    def _retold(self) -> Iterator[State]:
        """Do not believe what is written of one argument but its number of dimensions."""
        for name in self._origins:
            shape = self._state.dims.get(name, ())
            if name in self._told and any(symbol_of(size) is None or "'" not in str(size) for size in shape):
                fresh = self._state.with_new_sizes(name, len(shape), 0.0, "")
                reasons = (*self._state.reasons, (name, self._why()))
                yield replace(fresh, cost=self._state.cost + 1.9 + self._cost("sizes"), reasons=reasons)

    def _owner(self, state: State, symbol: str) -> str:
        return next((name for name, shape in state.dims.items() if any(symbol in size.symbols() for size in shape)), "")

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
            if number > _LITERAL and self._state.symbols_in(number):  # a smaller one is no size but what is written
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
        factors = [n for n in numbers if 1 < n <= _LITERAL or (n <= 1024 and not self._state.symbols_in(n))]
        factors = list(dict.fromkeys(n for n in factors if n > 1))[:8]
        for symbol in self._concerned:
            now = self._state.multiples.get(symbol, 1)
            told = [(factor, 0.7 if splits else 1.6) for factor in factors]
            for factor, cost in [*told, (2, 1.8), (4, 2.4), (12, 3.0)]:
                multiple = lcm(now, factor)
                if multiple != now and multiple <= 4096:
                    yield self._state.with_multiples({symbol: factor}, cost + base)

    # ---- element types and plain values

    def types(self) -> Iterator[State]:
        """Yield states that differ in the element type of one argument."""
        failure, base = self._failure, self._cost("types")
        places = INDICES.get(failure.name, ())
        wants_bool = re.search(r"bool|predicate|mask", failure.message, re.I) is not None
        for index, operand in enumerate(failure.operands):
            for name in sorted(operand.origins, key=self._order):
                if name not in self._state.dims:
                    continue
                extra = 0.0 if index in places or (not places and operand.is_argument) else 1.0
                extra += 0.5 * (len(operand.origins) - 1)
                order = ("bool", "int64", "fp32") if wants_bool and index not in places else ("int64", "bool", "fp32")
                for number, dtype in enumerate(order):
                    if self._state.dtypes.get(name, "fp32") != dtype:
                        dtypes = {**self._state.dtypes, name: dtype}
                        why = (*self._state.reasons, (name, self._why()))
                        cost = self._state.cost + 0.6 + extra + 0.4 * number + base
                        yield replace(self._state, dtypes=dtypes, cost=cost, reasons=why)

    def _values(self) -> Iterator[State]:
        base = self._cost("values")
        for name in self._origins:
            if name in self._state.dims and name not in self._told:
                dims = {key: value for key, value in self._state.dims.items() if key != name}
                for number, first in enumerate((2, 1, 4, 0.5)):
                    values = {**self._state.values, name: first}
                    yield replace(
                        self._state, dims=dims, values=values, cost=self._state.cost + 0.9 + 0.3 * number + base
                    )
        for name, value in self._state.values.items():
            if name not in self._told and type(value) is int:
                for number, other in enumerate((1, 2, 4, 0, -1, 3)):
                    if other != value:
                        values = {**self._state.values, name: other}
                        yield replace(self._state, values=values, cost=self._state.cost + 2.2 + 0.2 * number + base)


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
