"""Lazy Maps: element functions that have not been applied yet, and how they are computed piece by piece.

A :class:`LazyData` stands for the values of a large Map (or of a Zip of such). Views go through to its inputs, folds
pull the slices that they need, and whoever needs all values computes them in pieces that fit into a cache. So
a product of matrices written as Map and Accum never stores its products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import torch
from torch import Tensor

from stepcore.costs.policy import POLICY, blocks
from stepcore.findings.errors import SimError
from stepcore.ops.memory import AffineRead
from stepcore.sim.data import TensorData
from stepcore.sim.fnvec import FnRuntimeError, LazyProduct
from stepcore.sim.unit import FnUnit
from stepcore.types import Element

Regular: TypeAlias = "TensorData | LazyData"
Compute: TypeAlias = Callable[[Sequence[Tensor]], Sequence[Tensor]]


class LazyData:
    """``unit`` applied to the joined components of ``sources`` (``unit`` None: just joined), all of equal sizes.

    ``node`` is the operator that this stands for: it is named when the function fails, however late that happens.
    """

    __slots__ = ("depth", "element", "extents", "forced", "node", "sizes", "sources", "unit")

    def __init__(
        self,
        sizes: tuple[int, ...],
        element: Element,
        unit: FnUnit | None,
        sources: tuple[Regular, ...],
        node: int | None = None,
    ) -> None:
        self.node = node
        self.sizes = sizes
        self.element = element
        self.unit = unit
        self.sources = sources
        self.extents = joint_extents(sources)
        self.depth: int = sum(s.depth for s in sources if isinstance(s, LazyData)) + (unit is not None)
        self.forced: TensorData | None = None

    def force(self) -> TensorData:
        """Return the materialized values; they are computed once."""
        if self.forced is None:
            plan = LazyPlan.of(self)
            batch = len(self.sizes)

            def compute(leaves: Sequence[Tensor]) -> Sequence[Tensor]:
                return plan.run(leaves, batch)

            results = in_blocks(plan.leaves, self.extents, plan.bytes_each, compute)
            self.forced = TensorData(self.sizes, self.element, results)
        return self.forced

    @property
    def components(self) -> Sequence[Tensor]:
        """The tensors of the materialized values."""
        return self.force().components

    def dense(self) -> list[Tensor]:
        """See :meth:`TensorData.dense`."""
        return self.force().dense()

    def insert_dim(self, position: int, size: int) -> Regular:
        """See :class:`stepcore.ops.runtime.Data`."""
        if self.forced is not None:
            return self.forced.insert_dim(position, size)
        return self._through(tuple(s.insert_dim(position, size) for s in self.sources))

    def merge_dims(self, first: int, last: int) -> Regular:
        """See :class:`stepcore.ops.runtime.Data`; inputs that would have to be expanded are not: the values are."""
        if first == last:
            return self
        if self.forced is not None or not self._merges_free(first, last):
            return self.force().merge_dims(first, last)
        return self._through(tuple(s.merge_dims(first, last) for s in self.sources))

    def split_dim(self, position: int, sizes: Sequence[int]) -> Regular:
        """See :class:`stepcore.ops.runtime.Data`."""
        if self.forced is not None:
            return self.forced.split_dim(position, sizes)
        return self._through(tuple(s.split_dim(position, sizes) for s in self.sources))

    def into_element(self, count: int, element: Element) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; needs the values."""
        return self.force().into_element(count, element)

    def out_of_element(self, count: int, element: Element) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; needs the values."""
        return self.force().out_of_element(count, element)

    def read_dims(self, count: int, places: AffineRead) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; needs the values."""
        return self.force().read_dims(count, places)

    def join_tiles(self, axis: int, element: Element) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; needs the values."""
        return self.force().join_tiles(axis, element)

    def split_tiles(self, axis: int, element: Element) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; needs the values."""
        return self.force().split_tiles(axis, element)

    def _through(self, sources: tuple[Regular, ...]) -> LazyData:
        return LazyData(sources[0].sizes, self.element, self.unit, sources, self.node)

    def _merges_free(self, first: int, last: int) -> bool:
        rank = len(self.sizes)
        start, stop = rank - 1 - last, rank - first
        full = self.sizes[first : last + 1][::-1]
        for leaf in LazyPlan.of(self).leaves:
            extents = leaf.shape[start:stop]
            if tuple(extents) != full and prod(extents) != 1:
                return False
        return True


@dataclass(slots=True)
class LazyStep:
    """One application of ``unit`` to the registers ``arguments``, for the operator ``node``."""

    unit: FnUnit
    arguments: list[int]
    node: int | None

    def run(self, registers: Sequence[Any], batch: int, lazily: bool = False) -> Sequence[Any]:
        """Return the results; ``lazily`` may leave some as :class:`LazyProduct`. Raises ``SimError``."""
        function = self.unit.fn.lazy if lazily else self.unit.fn.call
        try:
            return function(([registers[i] for i in self.arguments],), batch)
        except FnRuntimeError as error:
            raise SimError(error.code, error.message, self.node, span=error.span) from error


@dataclass(slots=True)
class LazyPlan:
    """A tree of lazy Maps as a list of steps over ``leaves``; shared parts are computed once per run.

    Registers hold tensors: first the leaves, then the results of each step in order. ``bytes_each`` is what one
    stream position takes at the widest step. ``results`` are the registers of the final components.
    """

    leaves: list[Tensor]
    steps: list[LazyStep]
    results: list[int]
    bytes_each: int

    @staticmethod
    def of(data: Regular) -> LazyPlan:
        """Return the plan of ``data``; materialized data has no steps."""
        if isinstance(data, TensorData):
            count = len(data.components)
            return LazyPlan(list(data.components), [], list(range(count)), 0)
        return _linearize(data)

    def run(self, leaves: Sequence[Tensor], batch: int) -> list[Tensor]:
        """Compute on ``leaves`` (slices of the plan's own), which have ``batch`` stream axes."""
        if not self.steps:
            return list(leaves)
        registers = list(leaves)
        for step in self.steps:
            registers.extend(step.run(registers, batch))
        return [registers[i] for i in self.results]

    def run_lazily(self, leaves: Sequence[Tensor], batch: int) -> list[Tensor | LazyProduct]:
        """As :meth:`run`, but leave results that are sums of products for a reduction to add up."""
        registers: list[Any] = list(leaves)
        inner = {register for step in self.steps for register in step.arguments}
        for step in self.steps:
            own = range(len(registers), len(registers) + step.unit.outputs)
            registers.extend(step.run(registers, batch, lazily=inner.isdisjoint(own)))
        return [registers[i] for i in self.results]


def _linearize(data: LazyData) -> LazyPlan:
    leaves: dict[int, list[int]] = {}
    tensors: list[Tensor] = []
    order: list[LazyData] = []
    _collect(data, leaves, tensors, order, set())
    registers = dict(leaves)
    steps: list[LazyStep] = []
    used, widest = len(tensors), 1
    for node in order:
        arguments = [register for source in node.sources for register in registers[id(source)]]
        if node.unit is None:
            registers[id(node)] = arguments
            continue
        steps.append(LazyStep(node.unit, arguments, node.node))
        registers[id(node)] = list(range(used, used + node.unit.outputs))
        used += node.unit.outputs
        widest = max(widest, node.unit.bytes_each)
    results = registers[id(data)]
    if not steps:
        # A stream that is zipped with a copy of itself is one leaf, but two results.
        return LazyPlan([tensors[i] for i in results], [], list(range(len(results))), widest)
    return LazyPlan(tensors, steps, results, widest)


def _collect(
    data: Regular,
    leaves: dict[int, list[int]],
    tensors: list[Tensor],
    order: list[LazyData],
    seen: set[int],
) -> None:
    """Fill ``leaves`` with all materialized data and ``order`` with the lazy ones, inputs before users."""
    if id(data) in seen:
        return
    seen.add(id(data))
    ready = data if isinstance(data, TensorData) else data.forced
    if ready is not None:
        leaves[id(data)] = list(range(len(tensors), len(tensors) + len(ready.components)))
        tensors.extend(ready.components)
        return
    assert isinstance(data, LazyData)
    for source in data.sources:
        _collect(source, leaves, tensors, order, seen)
    order.append(data)


def extents_of(data: Regular) -> tuple[int, ...]:
    """Return the physical stream sizes, outermost first: those of all components together."""
    if isinstance(data, LazyData):
        return data.extents
    rank = len(data.sizes)
    if len(data.components) == 1:
        return tuple(data.components[0].shape[:rank])
    return _broadcast([t.shape[:rank] for t in data.components])


def joint_extents(sources: Sequence[Regular]) -> tuple[int, ...]:
    """Return the physical stream sizes of streams that are read together, outermost first."""
    if len(sources) == 1:
        return extents_of(sources[0])
    return _broadcast([extents_of(source) for source in sources])


def _broadcast(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    first = shapes[0]
    if shapes.count(first) == len(shapes):
        return tuple(first)
    # Along one axis every extent is the size or 1; a size of 0 counts as the size.
    return tuple(next((extent for extent in column if extent != 1), 1) for column in zip(*shapes, strict=True))


def in_blocks(leaves: Sequence[Tensor], extents: tuple[int, ...], bytes_each: int, compute: Compute) -> list[Tensor]:
    """Compute over the leading axes ``extents`` in pieces that fit into a cache, and put the results together.

    ``compute`` gets the leaves cut along these axes (compressed axes stay as they are) and returns tensors that
    begin with the same axes, cut alike or of length 1. ``bytes_each`` is its working set per position.
    """
    if prod(extents) * max(bytes_each, 1) <= POLICY.chunk:  # as most are
        return list(compute(leaves))
    pieces = list(blocks(extents, bytes_each, _chunk(leaves, len(extents))))
    if len(pieces) == 1:
        return list(compute(leaves))
    outputs: list[Tensor] = []
    for piece in pieces:
        results = compute([cut(leaf, piece) for leaf in leaves])
        if not outputs:
            outputs = [torch.empty((*extents, *r.shape[len(extents) :]), dtype=r.dtype) for r in results]
        for output, result in zip(outputs, results, strict=True):
            output[piece].copy_(result)
    return outputs


def _chunk(leaves: Sequence[Tensor], axes: int) -> int:
    """Return the size of pieces: larger where leaves broadcast, because sums of their products need no temporaries."""
    lead = leaves[0].shape[:axes]
    return POLICY.chunk if all(leaf.shape[:axes] == lead for leaf in leaves) else max(POLICY.reduce, POLICY.chunk)


def cut(tensor: Tensor, piece: tuple[slice, ...]) -> Tensor:
    """Return the part of ``tensor`` in ``piece``; axes of length 1 stay."""
    for axis, part in enumerate(piece):
        size = tensor.shape[axis]
        if size != 1 and (part.start > 0 or part.stop < size):
            tensor = tensor.narrow(axis, part.start, min(part.stop, size) - part.start)
    return tensor
