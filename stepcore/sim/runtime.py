"""The runtime that operator semantics run against: :class:`stepcore.ops.runtime.Runtime` on tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, cast, overload

import torch
from torch import Tensor

from stepcore.costs.policy import POLICY
from stepcore.findings.errors import SimError
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.memory import AffineRead, OffChipTensor
from stepcore.ops.pace import OffChipUse
from stepcore.sim import folds, ragged_ops, routes
from stepcore.sim.data import TensorData
from stepcore.sim.fnvec import CompiledFn, FnEnv
from stepcore.sim.lazy import LazyData, Regular, extents_of
from stepcore.sim.lengths import Level, Levels
from stepcore.sim.memory import OffChipMemory
from stepcore.sim.ragged import RaggedData, StreamData, alike, behind_each_other, repeated, split
from stepcore.sim.unit import FnUnit
from stepcore.sizes.dim import Dim, DimError
from stepcore.types import Element, Scalar, Shape, Tile, components, element_shape, join

if TYPE_CHECKING:
    from stepcore.sim.arrival_ops import ArrivalOrder


def _open_sizes(fn: Any, bindings: Mapping[str, int]) -> list[Dim]:
    """Return the sizes in the types of a function that only a run knows."""
    shapes = [element_shape(item) for element in (fn.input, fn.output) for item in components(element)]
    return [size for shape in shapes for size in shape if size.is_open and str(size) not in bindings]


def _element(inputs: Sequence[StreamData]) -> Element:
    """Return the element of streams that are joined."""
    return join([data.element for data in inputs])


class RuntimeImpl:
    """Runs element functions in ``env``; each is compiled once per runtime. ``bindings`` give sizes their values."""

    def __init__(self, env: FnEnv, bindings: Mapping[str, int], parameters: Mapping[str, Tensor] | None = None) -> None:
        self._env = env
        self._memory = OffChipMemory(parameters or {}, env.watched)
        self._bindings = bindings
        self._units: dict[int, FnUnit] = {}
        self._open: dict[tuple[int, tuple[int, ...]], FnUnit] = {}  # of functions on sizes that only a run knows
        self._graph: TypedGraph | None = None
        self._made: list[tuple[TypedNode, Sequence[StreamData]]] = []
        self._stored = False  # whether an operator that stores was applied: from then on, order counts
        self.node: int | None = None  # the operator that runs, or ran last: for messages
        self.order: ArrivalOrder | None = None  # in which chunks arrive; None: as stated

    @property
    def bindings(self) -> Mapping[str, int]:
        """The sizes that have a value before the run."""
        return self._bindings

    @property
    def floating(self) -> torch.dtype:
        """What fp32 stands for."""
        return self._env.dtype

    def begin(self, graph: TypedGraph | None = None) -> None:
        """Begin a run of ``graph``, whose types name sizes that the run finds: nothing is stored yet."""
        self.node = None
        self._graph = graph
        self._made = []
        self._stored = False
        self._memory.begin()

    def end(self) -> None:
        """Let go of the streams of a run."""
        self._made = []

    def intact(self) -> bool:
        """Return whether what was cut of parameters that are watched is as it was."""
        return self._memory.intact()

    def content(self, name: str) -> Tensor:
        """Return what a parameter holds after the run."""
        return self._memory.content(name)

    def need_order(self) -> None:
        """See :meth:`stepcore.sim.memory.OffChipMemory.need_order`."""
        self._memory.need_order()

    def apply(self, node: TypedNode, inputs: Sequence[StreamData]) -> Sequence[StreamData]:
        """See :class:`stepcore.graph.evaluate.GraphRuntime`."""
        self.node = node.index
        op = node.op
        if self._stored or op.off_chip is OffChipUse.STORES:
            return self._in_order(node, inputs)
        runtime: Any = self  # to the type checker a runtime of one kind of data is no general one
        results: Sequence[Any] = op.run(runtime, inputs)
        self._made.append((node, results))
        return results

    def _in_order(self, node: TypedNode, inputs: Sequence[StreamData]) -> Sequence[StreamData]:
        """Apply an operator that stores, or comes after one that did: what waits for which store is followed."""
        self._stored = True
        order, runtime = self._memory.order, cast("Any", self)
        order.enter(node)
        before = order.last
        results: list[Any] = list(node.op.run(runtime, inputs))
        if node.op.off_chip is OffChipUse.STORES and results:
            order.acknowledge(node, before)
        else:
            order.leave(node, results)
        self._made.append((node, results))
        return results

    def ran_in_loops(self, made: Iterable[tuple[TypedNode, Sequence[StreamData]]]) -> None:
        """Take in what operators gave that ran chunk by chunk."""
        self._made += made

    def unit(self, fn: Any) -> FnUnit:
        """Return the compiled ``fn``. It is found by identity: comparing declarations costs more than a small Map."""
        found = self._units.get(id(fn))
        if found is None:
            missing = _open_sizes(fn, self._bindings)
            if missing:
                return self._open_unit(fn, missing)
            # The unit keeps the declaration alive, so its id stays its own.
            found = self._units[id(fn)] = FnUnit(fn, CompiledFn(fn, self._env), self._bindings)
        return found

    def _open_unit(self, fn: Any, missing: Sequence[Dim]) -> FnUnit:
        """Return ``fn`` compiled for what its open sizes are in this run; equal ones are compiled once."""
        known: dict[str, int] = {**self._bindings, **self._found()}
        key = (id(fn), tuple(self._bound(size, known) for size in missing))
        found = self._open.get(key)
        if found is None:
            more = {name: value for name, value in known.items() if name not in self._bindings}
            found = self._open[key] = FnUnit(fn, CompiledFn(fn, self._env.with_sizes(more)), known)
        return found

    def _found(self) -> dict[str, int]:
        """Return the dynamic sizes that this run has found so far."""
        if self._graph is None:
            return {}
        from stepcore.sim.open_sizes import measured  # most programs have static sizes

        streams = (
            (index, data) for node, results in self._made for index, data in zip(node.outputs, results, strict=True)
        )
        return measured(self._graph, streams)

    def _bound(self, size: Dim, known: Mapping[str, int]) -> int:
        try:
            return size.bind(known)
        except DimError as error:
            raise SimError("STEP225", str(error)) from None

    @overload
    def zip(self, inputs: Sequence[Regular]) -> Regular: ...

    @overload
    def zip(self, inputs: Sequence[StreamData]) -> StreamData: ...

    def zip(self, inputs: Sequence[StreamData]) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`; lazy where an input is."""
        for data in inputs:
            if type(data) is not TensorData:
                return self._zip_other(inputs)
        return TensorData(inputs[0].sizes, _element(inputs), [t for data in inputs for t in data.components])

    def _zip_other(self, inputs: Sequence[StreamData]) -> StreamData:
        """Join streams of which some are lazy, or all ragged."""
        plain = [data for data in inputs if not isinstance(data, RaggedData)]
        if len(plain) == len(inputs):
            return LazyData(inputs[0].sizes, _element(inputs), None, tuple(plain))
        lists = alike(inputs)
        return lists[0].like(self.zip([data.packed for data in lists]))

    @overload
    def map(self, fn: Any, data: Regular) -> Regular: ...

    @overload
    def map(self, fn: Any, data: StreamData) -> StreamData: ...

    def map(self, fn: Any, data: StreamData) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`; a large one stays lazy."""
        if isinstance(data, TensorData):
            unit = self.unit(fn)
            # The cheap test first: most Maps are small however their sizes are counted.
            each = unit.bytes_each
            if prod(data.sizes) * each > POLICY.lazy and prod(extents_of(data)) * each > POLICY.lazy:
                return LazyData(data.sizes, unit.element, unit, (data,), self.node)
            return TensorData(data.sizes, unit.element, unit.fn.call((data.components,), len(data.sizes)))
        if isinstance(data, RaggedData):
            return data.like(self.map(fn, data.packed))
        unit = self.unit(fn)
        inner = data.force() if data.depth >= POLICY.chain else data
        return LazyData(data.sizes, unit.element, unit, (inner,), self.node)

    def fold(self, fn: Any, data: StreamData, dims: int) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        if isinstance(data, RaggedData):
            return ragged_ops.fold(self.unit(fn), data, dims)
        return folds.fold(self.unit(fn), data, dims)

    def scan(self, fn: Any, data: StreamData, dims: int) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        if isinstance(data, RaggedData):
            return ragged_ops.scan(self.unit(fn), data, dims)
        return folds.scan(self.unit(fn), data, dims)

    def select(self, data: StreamData, selector: Regular, branch: int) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return routes.select(data, selector.force(), branch)

    def merge(self, fn: Any, branches: Sequence[StreamData], selector: Regular) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        plain = [branch.force() for branch in branches if not isinstance(branch, RaggedData)]
        if len(plain) < len(branches):
            return ragged_ops.merge(self.unit(fn), branches, selector.force())
        return routes.merge(self.unit(fn), plain, selector.force())

    def reassemble(
        self, branches: Sequence[StreamData], selector: Regular, *, onehot: bool, by_arrival: bool = False
    ) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`. Raises ``SimError`` where branches do not fit."""
        order = self.order if by_arrival else None
        taking = None if order is None else partial(order.gathered, self.node)
        return ragged_ops.reassembled(branches, selector.force(), onehot=onehot, taking=taking)

    def arrive(self, streams: Sequence[StreamData]) -> Sequence[StreamData]:
        """See :class:`stepcore.ops.runtime.Runtime`. Raises ``SimError`` where chunks differ in their sizes."""
        from stepcore.sim.arrival_ops import STATED, arrived  # few programs go by arrival

        return arrived(streams, self.order or STATED, self.node)

    def deal(self, data: StreamData, lanes: int, *, by_arrival: bool) -> Sequence[StreamData]:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        from stepcore.sim.arrival_ops import STATED, dealt

        return dealt(data, lanes, (self.order if by_arrival else None) or STATED, self.node)

    def insert(self, data: StreamData, position: int, size: Level) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return data.insert_dim(position, size) if isinstance(size, int) else repeated(data, position, size)

    def split(self, data: StreamData, sizes: Levels) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`. Raises ``SimError`` where they are not its positions."""
        numbers = [size for size in sizes if isinstance(size, int)]
        return data.split_dim(len(data.sizes) - 1, numbers) if len(numbers) == len(sizes) else split(data, sizes)

    def concat(self, branches: Sequence[StreamData]) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`. Raises ``SimError`` where they differ in other dimensions."""
        return behind_each_other(branches)

    def pad(self, data: StreamData, chunk: int, value: float) -> tuple[StreamData, StreamData]:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return ragged_ops.padded(data, chunk, value)

    def count_each(self, data: StreamData) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`. Raises ``SimError`` for what cannot be counted to."""
        return ragged_ops.count_each(data)

    def load(self, memory: OffChipTensor, tile: Shape, places: AffineRead) -> TensorData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        rows, columns = map(self.size, tile)
        return self._memory.load(memory.name, (rows, columns), Tile(memory.scalar, tile), places)

    def store(self, memory: OffChipTensor, base: int, data: StreamData) -> None:
        """See :class:`stepcore.ops.runtime.Runtime`. Raises ``SimError`` where places were read or written already."""
        self._memory.store(memory.name, base, data.flat() if isinstance(data, RaggedData) else data.force())

    def load_at(self, memory: OffChipTensor, tile: Shape, addresses: StreamData) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        if isinstance(addresses, RaggedData):
            return addresses.like(self._load_at(memory, tile, addresses.packed))
        return self._load_at(memory, tile, addresses)

    def _load_at(self, memory: OffChipTensor, tile: Shape, addresses: Regular) -> TensorData:
        rows, columns = map(self.size, tile)
        return self._memory.load_at(memory.name, (rows, columns), Tile(memory.scalar, tile), addresses.force())

    def store_at(self, memory: OffChipTensor, addresses: StreamData, data: StreamData) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`. Raises ``SimError`` as :meth:`store`."""
        tiles = data.flat() if isinstance(data, RaggedData) else data.force()
        if isinstance(addresses, RaggedData):
            return addresses.like(self._memory.store_at(memory.name, addresses.packed.force(), tiles))
        return self._memory.store_at(memory.name, addresses.force(), tiles)

    def count(self, size: int) -> TensorData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return TensorData((size,), Scalar("int64"), [torch.arange(size)])

    def size(self, size: Dim | int) -> int:
        """See :class:`stepcore.ops.runtime.Runtime`. SimError STEP225 where a symbol has no value."""
        if isinstance(size, int):
            return size
        try:
            return size.bind(self._bindings)
        except DimError as error:
            raise SimError("STEP225", str(error)) from None
