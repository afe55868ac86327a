"""The runtime that operator semantics run against: :class:`stepcore.ops.runtime.Runtime` on tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch

from stepcore.costs.policy import POLICY
from stepcore.findings.errors import SimError
from stepcore.graph.typed import TypedNode
from stepcore.sim import folds, routes
from stepcore.sim.data import TensorData
from stepcore.sim.fnvec import CompiledFn, FnEnv
from stepcore.sim.lazy import LazyData, StreamData, extents_of
from stepcore.sim.unit import FnUnit
from stepcore.sizes.dim import Dim, DimError
from stepcore.types import Scalar, join


class RuntimeImpl:
    """Runs element functions in ``env``; each is compiled once per runtime. ``bindings`` give sizes their values."""

    def __init__(self, env: FnEnv, bindings: Mapping[str, int]) -> None:
        self._env = env
        self._bindings = bindings
        self._units: dict[int, FnUnit] = {}
        self.node: int | None = None  # the operator that runs, or ran last: for messages

    def apply(self, node: TypedNode, inputs: Sequence[StreamData]) -> Sequence[StreamData]:
        """See :class:`stepcore.graph.evaluate.GraphRuntime`."""
        self.node = node.index
        runtime: Any = self  # to the type checker a runtime of one kind of data is no general one
        results: Sequence[Any] = node.op.run(runtime, inputs)
        return results

    def unit(self, fn: Any) -> FnUnit:
        """Return the compiled ``fn``. It is found by identity: comparing declarations costs more than a small Map."""
        found = self._units.get(id(fn))
        if found is None:
            # The unit keeps the declaration alive, so its id stays its own.
            found = self._units[id(fn)] = FnUnit(fn, CompiledFn(fn, self._env), self._bindings)
        return found

    def zip(self, inputs: Sequence[StreamData]) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`; lazy where an input is."""
        element = join(data.element for data in inputs)
        sizes = inputs[0].sizes
        if any(isinstance(data, LazyData) for data in inputs):
            return LazyData(sizes, element, None, tuple(inputs))
        return TensorData(sizes, element, [t for data in inputs for t in data.components])

    def map(self, fn: Any, data: StreamData) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`; a large one stays lazy."""
        unit = self.unit(fn)
        if isinstance(data, TensorData):
            # The cheap test first: most Maps are small however their sizes are counted.
            each = unit.bytes_each
            if prod(data.sizes) * each > POLICY.lazy and prod(extents_of(data)) * each > POLICY.lazy:
                return LazyData(data.sizes, unit.element, unit, (data,), self.node)
            return TensorData(data.sizes, unit.element, unit.fn.call((data.components,), len(data.sizes)))
        if data.depth >= POLICY.chain:
            data = data.force()
        return LazyData(data.sizes, unit.element, unit, (data,), self.node)

    def fold(self, fn: Any, data: StreamData, dims: int) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return folds.fold(self.unit(fn), data, dims)

    def scan(self, fn: Any, data: StreamData, dims: int) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return folds.scan(self.unit(fn), data, dims)

    def select(self, data: StreamData, selector: StreamData, branch: int) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return routes.select(data.force(), selector.force(), branch)

    def merge(self, fn: Any, branches: Sequence[StreamData], selector: StreamData) -> StreamData:
        """See :class:`stepcore.ops.runtime.Runtime`."""
        return routes.merge(self.unit(fn), [branch.force() for branch in branches], selector.force())

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
