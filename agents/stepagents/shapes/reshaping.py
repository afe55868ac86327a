"""What ``view`` and ``reshape`` tell of the sizes of the tensor that they are applied to. Loads torch.

Of an argument that nothing else describes the written shape is the shape itself: ``w.view(n, d)`` is mostly a reminder
of what ``w`` is, and the ones in ``bias.view(1, c, 1, 1)`` are there for broadcasting. A tensor that was computed keeps
its number of dimensions, and its sizes are those of the written shape, or products of neighbours there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final

from stepagents.shapes.outcome import RunFailure
from stepagents.shapes.starting import is_weight
from stepagents.shapes.state import State
from stepcore.sizes.dim import Dim

_PARTS: Final = (2, 3, 4, 6, 8)
_OPEN: Final = -1
_LARGEST_BLOCK: Final = 20  # smaller than the sizes of symbols
Pairs = list[tuple[int, int]]


@dataclass(slots=True)
class _Reading:
    """The sizes of one written shape: parts of symbols (``d // 2``) turn these into multiples of new symbols."""

    state: State
    written: Sequence[int]
    argument: str
    parts: dict[str, Dim] = field(default_factory=dict)

    def size(self, number: int, index: int) -> Dim | None:
        """Return what ``number`` is made of, None where that cannot be told."""
        if number == _OPEN:
            return Dim.symbol(self.state.fresh(self.argument, index))
        found = next((name for name, size in self.state.numbers.items() if size == number), None)
        if found is not None:
            return Dim.symbol(found)
        part = self._part(number, index)
        if part is not None:
            return part
        if number in self.written:
            return Dim.of(number)
        natural = [size for size in self.state.expressions(number) if self._is_natural(size)]
        # Two sizes have a sum by chance: those of the variables that stand in the line are meant.
        return next((size for size in natural if self._is_written(size)), natural[0] if natural else None)

    def _is_written(self, size: Dim) -> bool:
        return all(self.state.numbers[symbol] in self.written for symbol in size.symbols())

    def _part(self, number: int, index: int) -> Dim | None:
        for name, size in self.state.numbers.items():
            for count in _PARTS:
                if size // count == number and number > max(_PARTS):
                    whole = self.parts.setdefault(name, Dim.symbol(self.state.fresh(self.argument, index)) * count)
                    ((_, factor),) = whole.terms
                    return Dim.symbol(next(iter(whole.symbols()))) if factor == count else None
        return None

    def _is_natural(self, size: Dim) -> bool:
        """Whether a size is a product of symbols and a written number, or a sum of symbols."""
        if len(size.terms) == 1:
            ((symbols, factor),) = size.terms
            return bool(symbols) and (factor == 1 or factor in self.written)
        return all(len(symbols) == 1 and factor == 1 for symbols, factor in size.terms)


def as_written(state: State, failure: RunFailure, told: frozenset[str], why: str) -> Iterator[State]:
    """Yield the state in which an argument that nothing tells has the shape that it is brought into."""
    operand = failure.operands[0]
    (name,) = operand.origins if operand.is_argument else ("",)
    if name in told or name not in state.dims or not failure.numbers or failure.numbers.count(_OPEN) > 1:
        return
    reading = _Reading(state, failure.written, name)
    wanted = [number for number in failure.numbers if number != 1] or [1]
    sizes = [reading.size(number, index) for index, number in enumerate(wanted)]
    shape = tuple(size for size in sizes if size is not None)
    is_data = not is_weight(name) or "mask" in name or _is_beside(state, name, shape)
    if is_data and len(shape) == len(sizes):
        shape = _unflattened(reading, shape, wanted)
    own = {symbol for size in state.dims[name] for symbol in size.symbols()}
    if len(shape) < len(sizes) or own & reading.parts.keys():
        return
    keeps = bool(own & {symbol for size in shape for symbol in size.symbols()})
    cost = 0.3 if not keeps else 0.4 if _OPEN not in wanted else 1.3
    found = replace(
        state, dims={**state.dims, name: shape}, cost=state.cost + cost, reasons=(*state.reasons, (name, why))
    )
    for symbol, whole in reading.parts.items():
        found = found.with_size(symbol, whole, 0.0, (name, why))
    yield found


def _is_beside(state: State, name: str, shape: Sequence[Dim]) -> bool:
    """Whether a shape begins as that of an image does, which a weight's does not: ``b.view(n, c, -1)`` beside ``a``."""
    images = (other for key, other in state.dims.items() if key != name and len(other) > 3 and not is_weight(key))
    return len(shape) == 3 and any(other[:2] == tuple(shape[:2]) for other in images)


def _unflattened(reading: _Reading, shape: Sequence[Dim], wanted: Sequence[int]) -> tuple[Dim, ...]:
    """Return the sizes of data that are made flat: ``labels.view(b * t)`` has two, ``x.view(n, c, -1)`` four."""
    found: list[Dim] = []
    order = list(reading.state.symbols)
    for size in shape:
        is_product = len(size.terms) == 1 and len(size.symbols()) > 1 and size.terms[0][1] == 1
        found += [Dim.symbol(name) for name in sorted(size.symbols(), key=order.index)] if is_product else [size]
    if len(wanted) == 3 and wanted[-1] == _OPEN:
        found.append(Dim.symbol(reading.state.fresh(reading.argument, len(found))))
    return tuple(found)


def aligned(shape: Sequence[int], numbers: Sequence[int]) -> Iterator[Pairs]:
    """Yield pairs of sizes that make ``shape`` the shape ``numbers``, where they are neighbours multiplied.

    Ones do not count; -1 is what is left.
    """
    left, right = [size for size in shape if size != 1], [size for size in numbers if size != 1]
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    if not left or not right:
        return
    if len(left) == len(right):
        yield _unequal(zip(left, right, strict=True))
    elif len(left) == 1:
        yield _unequal([(left[0], _product(right))])
    elif _OPEN in right[:1]:
        yield _unequal([(left[-1], right[-1])])
    elif _OPEN in right[-1:]:
        yield _unequal([(left[0], right[0])])
    elif len(left) < len(right):
        rest = len(right) - len(left) + 1
        yield _unequal([*zip(left[:-1], right, strict=False), (left[-1], _product(right[-rest:]))])
        yield _unequal([(left[0], _product(right[:rest])), *zip(left[1:], right[rest:], strict=True)])


def cut(shape: Sequence[int], numbers: Sequence[int], written: Sequence[int]) -> dict[int, int]:
    """Return the sizes that a written shape cuts into blocks, with the number in a block: ``(n, h // 8, 8)``.

    A block is one of the numbers ``written`` in the line. Sizes that stay whole stand where they stood; the result is
    empty where any other size stands there.
    """
    found: dict[int, int] = {}
    rest = list(numbers)
    for size in shape:
        if rest[:1] == [size]:
            rest = rest[1:]
            continue
        block = next(
            (one for one in rest[:2] if one in written and 1 < one <= _LARGEST_BLOCK and size // one in rest[:2]), 0
        )
        if not block or rest[0] * rest[1] != block * (size // block):
            return {}
        found[size] = block
        rest = rest[2:]
    return found if not rest else {}


def _product(sizes: Sequence[int]) -> int:
    return _OPEN if _OPEN in sizes else prod(sizes)


def _unequal(pairs: Sequence[tuple[int, int]] | zip[tuple[int, int]]) -> Pairs:
    return [(one, other) for one, other in pairs if _OPEN not in {one, other} and one != other]
