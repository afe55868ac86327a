"""Streams as sizes: what the operators' semantics run on when only memory is asked for. No torch here.

:class:`SizeData` and :class:`SizeRuntime` implement the protocols of :mod:`stepcore.ops.runtime` without values;
a :class:`ByteCount` adds up what would be materialized. :mod:`stepcore.costs.bounds` explains the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, NamedTuple

from stepcore.costs.policy import POLICY
from stepcore.findings.errors import SimError
from stepcore.graph.typed import TypedNode, TypedStream
from stepcore.ops.base import RuleError
from stepcore.ops.memory import AffineRead, OffChipTensor
from stepcore.records import make
from stepcore.sizes.dim import Dim
from stepcore.types import (
    DTYPE_BYTES,
    Element,
    Multihot,
    Scalar,
    Shape,
    StreamType,
    Tile,
    components,
    dtype_of,
    join,
    tensor_shapes,
)

# More positions than this cannot be folded one after another in a reasonable time.
MAX_STEPS: Final = 50_000_000
# Sizes beyond this cannot be addressed, repeated or not.
_MAX_VALUES: Final = 1 << 62
# Intermediate results of one function application that may be alive together.
_TEMPORARIES: Final = 4


class AtMost(int):
    """An upper bound of a size that is only known when running; dividing it leaves no remainder."""

    def __mod__(self, other: int) -> int:
        return 0

    def __floordiv__(self, other: int) -> int:
        return type(self)(-(-int(self) // int(other)))

    def __mul__(self, other: int) -> int:
        return type(self)(int.__mul__(self, other))

    __rmul__ = __mul__


class LongestList(AtMost):
    """An upper bound of a size that differs from position to position; what repeats along it is written out."""


class ComponentSize(NamedTuple):  # the cheapest to make: every operator makes some for each candidate
    """One component: ``extents`` of all axes outermost first, 1 where values repeat; ``rest`` are full element axes."""

    extents: tuple[int, ...]
    rest: tuple[int, ...]
    bytes_each: int


class SizeData:
    """Sizes instead of values; see :class:`stepcore.ops.runtime.Data`. ``pending`` bytes are due once it is forced."""

    __slots__ = ("depth", "element", "ledger", "parts", "pending", "sizes")

    def __init__(
        self, ledger: ByteCount, sizes: tuple[int, ...], element: Element, parts: Sequence[ComponentSize],
        pending: int = 0, depth: int = 0,
    ) -> None:  # fmt: skip
        self.ledger = ledger
        self.sizes = sizes
        self.element = element
        self.parts = parts
        self.pending = pending
        self.depth = depth

    def force(self) -> SizeData:
        """Charge what materializing takes; charged once."""
        if self.pending:
            self.ledger.charge(self.pending)
            self.pending = self.depth = 0
        return self

    def insert_dim(self, position: int, size: int) -> SizeData:
        """See :class:`stepcore.ops.runtime.Data`."""
        axis = len(self.sizes) - position
        sizes = (*self.sizes[:position], size, *self.sizes[position:])
        self.ledger.addressable(sizes, self.parts)
        parts = [ComponentSize((*p.extents[:axis], 1, *p.extents[axis:]), p.rest, p.bytes_each) for p in self.parts]
        return self._view(sizes, self.element, parts)

    def merge_dims(self, first: int, last: int) -> SizeData:
        """See :class:`stepcore.ops.runtime.Data`."""
        if first == last:
            return self
        rank = len(self.sizes)
        start, stop = rank - 1 - last, rank - first
        full = self.sizes[first : last + 1][::-1]
        sizes = (*self.sizes[:first], prod(full), *self.sizes[last + 1 :])
        parts = []
        for part in self.parts:
            extents = part.extents[start:stop]
            mixed = extents != full and prod(extents) != 1
            merged = (*part.extents[:start], prod(full if mixed else extents), *part.extents[stop:])
            parts.append(ComponentSize(merged, part.rest, part.bytes_each))
            if mixed:
                self.force()
                self.ledger.charge(prod(merged) * part.bytes_each)
        return self._view(sizes, self.element, parts)

    def split_dim(self, position: int, sizes: Sequence[int]) -> SizeData:
        """See :class:`stepcore.ops.runtime.Data`."""
        axis = len(self.sizes) - 1 - position
        parts = []
        for part in self.parts:
            extents = tuple(reversed(sizes)) if part.extents[axis] != 1 else (1,) * len(sizes)
            parts.append(
                ComponentSize((*part.extents[:axis], *extents, *part.extents[axis + 1 :]), part.rest, part.bytes_each)
            )
        return self._view((*self.sizes[:position], *sizes, *self.sizes[position + 1 :]), self.element, parts)

    def into_element(self, count: int, element: Element) -> SizeData:
        """See :class:`stepcore.ops.runtime.Data`."""
        self.force()
        full = self.sizes[:count][::-1]
        parts = [ComponentSize(p.extents, (*full, *p.rest), p.bytes_each) for p in self.parts]
        return SizeData(self.ledger, self.sizes[count:], element, parts)

    def out_of_element(self, count: int, element: Element) -> SizeData:
        """See :class:`stepcore.ops.runtime.Data`."""
        self.force()
        moved = self.parts[0].rest[:count]
        parts = [ComponentSize(p.extents, p.rest[count:], p.bytes_each) for p in self.parts]
        return SizeData(self.ledger, (*reversed(moved), *self.sizes), element, parts)

    def read_dims(self, count: int, places: AffineRead) -> SizeData:
        """See :class:`stepcore.ops.runtime.Data`."""
        shape, stride = places.shape, places.stride
        flat = self.force().merge_dims(0, count - 1)
        place = len(flat.sizes) - 1
        moved = tuple(size if step else 1 for size, step in zip(reversed(shape), reversed(stride), strict=True))
        sizes = (*shape, *self.sizes[count:])
        parts = []
        for part in flat.parts:
            new = moved if part.extents[place] != 1 else (1,) * len(moved)
            extents = (*part.extents[:place], *new, *part.extents[place + 1 :])
            if any(step < 0 for step in stride):  # turned around, which no view can be
                self.ledger.charge(prod(extents) * part.bytes_each)
            parts.append(ComponentSize(extents, part.rest, part.bytes_each))
        self.ledger.addressable(sizes, parts)
        return SizeData(self.ledger, sizes, self.element, parts)

    def join_tiles(self, axis: int, element: Element) -> SizeData:
        """See :class:`stepcore.ops.runtime.Data`; all tiles are written out."""
        (rows, columns), count = self.parts[0].rest, self.sizes[0]
        return self._retiled(self.sizes[1:], (rows * count, columns) if axis == 0 else (rows, columns * count), element)

    def split_tiles(self, axis: int, element: Element) -> SizeData:
        """See :class:`stepcore.ops.runtime.Data`; all tiles are written out."""
        rows, columns = self.parts[0].rest
        sizes = (self.sizes[0] * (columns if axis else rows), *self.sizes[1:])
        return self._retiled(sizes, (rows, 1) if axis else (1, columns), element)

    def _retiled(self, sizes: tuple[int, ...], rest: tuple[int, ...], element: Element) -> SizeData:
        self.force()
        (part,) = self.parts
        outer = part.extents[: len(self.sizes) - 1]
        inner = sizes[: len(sizes) - len(outer)]
        extents = (*outer, *inner, *rest)
        self.ledger.charge(prod(extents) * part.bytes_each)
        return SizeData(self.ledger, sizes, element, [ComponentSize(extents, rest, part.bytes_each)])

    def _view(self, sizes: tuple[int, ...], element: Element, parts: Sequence[ComponentSize]) -> SizeData:
        return SizeData(self.ledger, sizes, element, parts, self.pending, self.depth)


@dataclass(slots=True)
class ByteCount:
    """Adds up bytes; ``charge`` raises as soon as the limit is passed.

    ``scale`` is how many times larger a number is than its type says (2 for a run in fp64). ``node`` is the operator
    that takes what is counted; before the first of them, ``given`` says what does.
    """

    limit: int
    scale: int = 1
    total: int = 0
    working: int = 0
    node: TypedNode | None = None
    given: str = "the inputs"

    @property
    def name(self) -> str:
        """What takes the bytes that are counted, for messages."""
        return self.given if self.node is None else self.node.written

    def charge(self, needed: int) -> None:
        """Add bytes that stay allocated."""
        needed *= self.scale
        self.total += needed
        if self.total + self.working > self.limit:
            self._refuse()

    def work(self, needed: int) -> None:
        """Note the working set of one operator."""
        needed *= self.scale
        if needed > self.working:
            self.working = needed
            if self.total + needed > self.limit:
                self._refuse()

    def addressable(self, sizes: tuple[int, ...], parts: Sequence[ComponentSize]) -> None:
        """Raise ``SimError`` for streams with more values than can be numbered."""
        values = prod(sizes) * max((prod(part.rest) for part in parts), default=1)
        if values > _MAX_VALUES:
            text = f"{self.name} makes a stream of {values:.3g} values, more than can be addressed"
            raise self._error(text, values * 4)

    def _refuse(self) -> None:
        needed = self.total + self.working
        verb = "need" if self.node is None else "needs"
        text = (
            f"{self.name} {verb} more memory than allowed: {bytes_text(needed)} with all that comes before it, "
            f"the limit is {bytes_text(self.limit)}; bind smaller sizes or raise the limit"
        )
        raise self._error(text, needed)

    def _error(self, text: str, needed: int) -> SimError:
        index = None if self.node is None else self.node.index
        return SimError("STEP406", text, index, needed=needed, limit=self.limit)


@dataclass(frozen=True, slots=True)
class FnSizes:
    """Bytes of one application of an element function: of its results, and of arguments and results."""

    fn: Any  # kept alive, because it is found by its id
    parts: tuple[tuple[tuple[int, ...], int], ...]  # element axes and bytes of a value, per output component
    out_bytes: int
    bytes_each: int


class SizeRuntime:
    """The runtime protocol on sizes; ``fn_sizes`` measures element functions and ``bind`` sizes."""

    def __init__(
        self,
        ledger: ByteCount,
        fn_sizes: Callable[[Any], FnSizes],
        bind: Callable[[Dim | int], int],
        streams: Sequence[TypedStream] = (),
    ) -> None:
        self.ledger = ledger
        self.fn_sizes = fn_sizes
        self.size = bind
        self.streams = streams

    def apply(self, node: TypedNode, inputs: Sequence[SizeData]) -> Sequence[SizeData]:
        """See :class:`stepcore.graph.evaluate.GraphRuntime`.

        Raises:
            SimError: at ``node``; STEP406 where the limit is passed, STEP405 where a fold is endless.
        """
        self.ledger.node = node
        runtime: Any = self  # to the type checker a runtime of one kind of data is no general one
        try:
            results: Sequence[Any] = node.op.run(runtime, inputs)
        except RuleError as error:
            raise SimError(error.code, error.message, node.index) from None
        except SimError as error:
            error.node = node.index
            raise
        return results

    def zip(self, inputs: Sequence[SizeData]) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        parts = [part for data in inputs for part in data.parts]
        pending, depth = sum(data.pending for data in inputs), sum(data.depth for data in inputs)
        return SizeData(self.ledger, inputs[0].sizes, join(d.element for d in inputs), parts, pending, depth)

    def map(self, fn: Any, data: SizeData) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        known = self.fn_sizes(fn)
        extents = _joint(data)
        if data.depth >= POLICY.chain:
            data.force()
        positions = prod(extents)
        needed = positions * known.out_bytes
        self._work(known.bytes_each, positions)
        parts = [make(ComponentSize, ((*extents, *axes), axes, size)) for axes, size in known.parts]
        if data.pending or positions * known.bytes_each > POLICY.lazy:
            pending = data.pending + needed
            return SizeData(self.ledger, data.sizes, fn.output, parts, pending, data.depth + 1)
        self.ledger.charge(needed)
        return SizeData(self.ledger, data.sizes, fn.output, parts)

    def fold(self, fn: Any, data: SizeData, dims: int) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return self._folded(fn, data, dims, data.sizes[dims:], _joint(data)[: len(data.sizes) - dims])

    def scan(self, fn: Any, data: SizeData, dims: int) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        extents = (*_joint(data)[: len(data.sizes) - dims], *data.sizes[:dims][::-1])
        return self._folded(fn, data, dims, data.sizes, extents)

    def select(self, data: SizeData, selector: SizeData, branch: int) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        data.force()
        selector.force()
        size = AtMost(data.sizes[-1])
        parts = [ComponentSize((AtMost(p.extents[0]), *p.extents[1:]), p.rest, p.bytes_each) for p in data.parts]
        self.ledger.charge(sum(prod(p.extents) * p.bytes_each for p in parts if p.extents[0] != 1))
        return SizeData(self.ledger, (*data.sizes[:-1], size), data.element, parts)

    def merge(self, fn: Any, branches: Sequence[SizeData], selector: SizeData) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        known = self.fn_sizes(fn)
        for data in (*branches, selector):
            data.force()
        common = branches[0].sizes[:-1]
        sizes = common + selector.sizes
        extents = sizes[::-1]
        # The states, and as much again for the rows of one branch.
        self.ledger.charge(2 * prod(extents) * known.out_bytes)
        self._work(known.bytes_each, prod(extents))
        return SizeData(self.ledger, sizes, fn.output, [ComponentSize((*extents, *a), a, b) for a, b in known.parts])

    def reassemble(
        self, branches: Sequence[SizeData], selector: SizeData, *, onehot: bool, by_arrival: bool
    ) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`; all chunks stand in memory once more, twice while they move."""
        selector.force()
        found = self.concat(branches)
        self.ledger.charge(sum(prod(part.extents) * part.bytes_each for part in found.parts))
        count = 1 if onehot else LongestList(len(branches))
        parts = [
            ComponentSize((*selector.sizes[::-1], count, *part.extents[1:]), part.rest, part.bytes_each)
            for part in found.parts
        ]
        sizes = (*found.sizes[:-1], count, selector.sizes[-1])
        return SizeData(self.ledger, sizes, found.element, parts)

    def insert(self, data: SizeData, position: int, size: int) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`; along a ragged dimension elements are written out."""
        found = data.insert_dim(position, size)
        if isinstance(size, LongestList):
            place = len(data.sizes) - position
            found.force()
            parts = [
                ComponentSize((*p.extents[:place], size, *p.extents[place + 1 :]), p.rest, p.bytes_each)
                for p in found.parts
            ]
            self.ledger.charge(sum(prod(part.extents) * part.bytes_each for part in parts))
            return SizeData(self.ledger, found.sizes, found.element, parts)
        return found

    def split(self, data: SizeData, sizes: Sequence[int]) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return data.split_dim(len(data.sizes) - 1, sizes)

    def concat(self, branches: Sequence[SizeData]) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`; all chunks are written out."""
        first = branches[0]
        for data in branches:
            data.force()
        total = AtMost(sum(data.sizes[-1] for data in branches))
        sizes = (*first.sizes[:-1], total)
        full = (total, *first.sizes[:-1][::-1])
        parts = [ComponentSize((*full, *part.rest), part.rest, part.bytes_each) for part in first.parts]
        self.ledger.charge(sum(prod(part.extents) * part.bytes_each for part in parts))
        return SizeData(self.ledger, sizes, first.element, parts)

    def arrive(self, streams: Sequence[SizeData]) -> Sequence[SizeData]:
        """See :class:`stepcore.ops.runtime.Runtime`; all chunks are written out."""
        data = self.concat(streams)
        return (data, self._selector(data.sizes[-1], len(streams)))

    def loop(self, type: StreamType) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`; all that comes back is written out."""
        sizes = tuple(self.size(size) for size in type.shape)
        parts = []
        for item, shape in zip(components(type.element), tensor_shapes(type), strict=True):
            extents = tuple(self.size(size) for size in shape)
            parts.append(ComponentSize(extents, extents[len(sizes) :], DTYPE_BYTES[dtype_of(item)]))
        self.ledger.charge(sum(prod(part.extents) * part.bytes_each for part in parts))
        return SizeData(self.ledger, sizes, type.element, parts)

    def deal(self, data: SizeData, lanes: int, *, by_arrival: bool) -> Sequence[SizeData]:
        """See :class:`stepcore.ops.runtime.Runtime`; all chunks are written out."""
        selector = self._selector(data.sizes[-1], lanes)
        return (*(self.select(data, selector, lane) for lane in range(lanes)), selector)

    def _selector(self, count: int, branches: int) -> SizeData:
        extents = (count, branches)
        self.ledger.charge(prod(extents) * DTYPE_BYTES["bool"])
        part = ComponentSize(extents, (branches,), DTYPE_BYTES["bool"])
        return SizeData(self.ledger, (count,), Multihot(Scalar("bool"), branches), [part])

    def pad(self, data: SizeData, chunk: int, value: float) -> tuple[SizeData, SizeData]:
        """See :class:`stepcore.ops.runtime.Runtime`; both results are written out."""
        data.force()
        whole = data.sizes[0]
        sizes = (chunk, type(whole)(-(-int(whole) // chunk)), *data.sizes[1:])
        full = sizes[::-1]
        parts = [ComponentSize((*full, *part.rest), part.rest, part.bytes_each) for part in data.parts]
        marks = [ComponentSize(full, (), DTYPE_BYTES["bool"])]
        self.ledger.charge(sum(prod(part.extents) * part.bytes_each for part in (*parts, *marks)))
        return SizeData(self.ledger, sizes, data.element, parts), SizeData(self.ledger, sizes, Scalar("bool"), marks)

    def count_each(self, data: SizeData) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`; how far is counted, the type of the result says."""
        data.force()
        node = self.ledger.node
        assert node is not None, "an operator counts"
        most = self.size(self.streams[node.outputs[0]].type.shape[0])
        count = LongestList(-(-int(most) // max(int(data.sizes[0]), 1)))
        sizes = (count, *data.sizes)
        each = DTYPE_BYTES["int64"]
        self.ledger.charge(prod(sizes) * each)
        return SizeData(self.ledger, sizes, Scalar("int64"), [ComponentSize(sizes[::-1], (), each)])

    def load(self, memory: OffChipTensor, tile: Shape, places: AffineRead) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`; the tiles stand in memory once more, one after the other."""
        return self._cut(memory, tile).read_dims(1, places)

    def load_at(self, memory: OffChipTensor, tile: Shape, addresses: SizeData) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`; as :meth:`load`, and the tiles of the addresses."""
        addresses.force()
        (part,) = self._cut(memory, tile).parts
        extents = (*addresses.parts[0].extents[: len(addresses.sizes)], *part.rest)
        self.ledger.charge(prod(extents) * part.bytes_each)
        found = [ComponentSize(extents, part.rest, part.bytes_each)]
        self.ledger.addressable(addresses.sizes, found)
        return SizeData(self.ledger, addresses.sizes, Tile(memory.scalar, tile), found)

    def _cut(self, memory: OffChipTensor, tile: Shape) -> SizeData:
        rest = tuple(map(self.size, tile))
        count = prod(map(self.size, memory.sizes)) // prod(rest)
        each = DTYPE_BYTES[memory.scalar.dtype]
        self.ledger.charge(count * prod(rest) * each)
        return SizeData(self.ledger, (count,), Tile(memory.scalar, tile), [ComponentSize((count, *rest), rest, each)])

    def store(self, memory: OffChipTensor, base: int, data: SizeData) -> None:
        """See :class:`stepcore.ops.runtime.Runtime`; a copy of the parameter, marks, and the stream in full."""
        data.force()
        count = prod(map(self.size, memory.sizes))
        self.ledger.charge(count * (DTYPE_BYTES[memory.scalar.dtype] + DTYPE_BYTES["int64"]))
        self.ledger.charge(prod(data.sizes) * (prod(data.parts[0].rest) * data.parts[0].bytes_each + 8))

    def store_at(self, memory: OffChipTensor, addresses: SizeData, data: SizeData) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`; as :meth:`store`, and numbers for addresses and places."""
        addresses.force()
        self.store(memory, 0, data)
        self.ledger.charge((prod(map(self.size, memory.sizes)) + prod(addresses.sizes)) * DTYPE_BYTES["int64"])
        flag = ComponentSize((1,) * len(addresses.sizes), (), DTYPE_BYTES["bool"])
        return SizeData(self.ledger, addresses.sizes, Scalar("bool"), [flag])

    def count(self, size: int) -> SizeData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        each = DTYPE_BYTES["int64"]
        self.ledger.charge(size * each)
        return SizeData(self.ledger, (size,), Scalar("int64"), [ComponentSize((size,), (), each)])

    def _folded(self, fn: Any, data: SizeData, dims: int, sizes: tuple[int, ...], extents: tuple[int, ...]) -> SizeData:
        known = self.fn_sizes(fn)
        steps = prod(data.sizes[:dims])
        if steps > MAX_STEPS:
            text = f"{self.ledger.name} folds {steps:.3g} elements one after another; at most {MAX_STEPS:.3g} are run"
            raise SimError("STEP405", text)  # at the operator that runs
        self._work(known.bytes_each, prod(_joint(data)))
        self.ledger.charge(prod(extents) * known.out_bytes)
        return SizeData(self.ledger, sizes, fn.output, [ComponentSize((*extents, *a), a, b) for a, b in known.parts])

    def _work(self, bytes_each: int, positions: int) -> None:
        """Note what one piece of a computation takes: at least one position, at most the largest piece."""
        piece = min(positions * bytes_each, max(POLICY.chunk, POLICY.reduce))
        self.ledger.work(_TEMPORARIES * max(bytes_each, piece))


def bytes_text(count: int) -> str:
    """Return a number of bytes for people: ``12 bytes``, ``3.4 GiB``."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.3g} EiB"


def _joint(data: SizeData) -> tuple[int, ...]:
    rank = len(data.sizes)
    if len(data.parts) == 1:
        return data.parts[0].extents[:rank]
    columns = zip(*[part.extents[:rank] for part in data.parts], strict=True)
    return tuple(next((extent for extent in column if extent != 1), 1) for column in columns)
