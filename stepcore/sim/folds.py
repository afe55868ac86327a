"""Folds and scans: sequential over the folded positions, vectorized over everything else.

A function that is a known reduction (a sum, a maximum, ...) is computed by tensor reductions instead of the loop; of
others only what really depends on the previous position is (:mod:`stepcore.sim.fnvec.stages`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from math import prod

import torch
from torch import Tensor

from stepcore.costs.policy import POLICY
from stepcore.sim.data import TensorData
from stepcore.sim.fnvec import LONGEST, Stages
from stepcore.sim.lazy import Compute, LazyPlan, Regular, extents_of, in_blocks
from stepcore.sim.unit import FnUnit

# Slices of one axis are made so many at a time, so that a long stream does not become a long list of tensors.
_UNBIND = 4096
# Bytes of the largest number.
_WIDEST = 8


def fold(unit: FnUnit, data: Regular, dims: int) -> TensorData:
    """Fold the innermost ``dims`` stream dimensions; folding nothing gives the initial state."""
    plan = LazyPlan.of(data)
    outer = len(data.sizes) - dims
    sizes = data.sizes[:dims][::-1]
    extents = extents_of(data)[:outer]
    rest = data.sizes[dims:]
    if 0 in sizes:
        return TensorData(rest, unit.element, unit.start(outer))
    working = max(plan.bytes_each, unit.bytes_each) * prod(sizes)
    if unit.fn.reduction is not None and working <= POLICY.reduce:
        axes = tuple(range(outer, outer + dims))

        def reduce(leaves: Sequence[Tensor]) -> Sequence[Tensor]:
            values = plan.run_lazily(leaves, outer + dims)
            return unit.fn.reduce_call(values, outer + dims, axes, sizes)

        return TensorData(rest, unit.element, in_blocks(plan.leaves, extents, working, reduce))

    def loop(leaves: Sequence[Tensor]) -> Sequence[Tensor]:
        state: Sequence[Tensor] = unit.start(outer)
        for state in states(unit, plan, leaves, outer, sizes):  # noqa: B007  only the last state counts
            pass
        return state

    staged = _staged(unit, plan, extents, sizes)
    if staged is not None:
        run = _in_stages(staged, unit, plan, outer + 1, sizes[0], False, loop)
        return TensorData(rest, unit.element, in_blocks(plan.leaves, extents, working, run))
    each = max(plan.bytes_each, unit.bytes_each + unit.out_bytes)
    return TensorData(rest, unit.element, in_blocks(plan.leaves, extents, each, loop))


def scan(unit: FnUnit, data: Regular, dims: int) -> TensorData:
    """As :func:`fold`, but keep the state after every element; restarts for each outer position."""
    plan = LazyPlan.of(data)
    outer = len(data.sizes) - dims
    sizes = data.sizes[:dims][::-1]
    if 0 in data.sizes:
        zeros = [t.new_empty((*data.sizes[::-1], *t.shape[outer:])) for t in unit.start(outer)]
        return TensorData(data.sizes, unit.element, zeros)

    def loop(leaves: Sequence[Tensor]) -> Sequence[Tensor]:
        kept = zip(*states(unit, plan, leaves, outer, sizes), strict=True)
        stacked = [torch.stack(_alike(column), outer) for column in kept]
        return stacked if dims == 1 else [torch.unflatten(t, outer, sizes) for t in stacked]

    extents = extents_of(data)[:outer]
    staged = _staged(unit, plan, extents, sizes)
    run = loop if staged is None else _in_stages(staged, unit, plan, outer + 1, sizes[0], True, loop)
    each = max(plan.bytes_each, unit.bytes_each) * prod(sizes)
    return TensorData(data.sizes, unit.element, in_blocks(plan.leaves, extents, each, run))


def _staged(unit: FnUnit, plan: LazyPlan, extents: tuple[int, ...], sizes: tuple[int, ...]) -> Stages | None:
    """Return how to fold one dimension in stages; None where a loop has to do it, or does it better.

    Stages save calls, which counts for small data. Large data is faster row by row, because the rows stay in a cache.
    """
    if len(sizes) > 1 or not 1 < sizes[0] <= LONGEST or any(0 in leaf.shape for leaf in plan.leaves):
        return None
    each = max(plan.bytes_each, unit.bytes_each)
    if prod(extents) * sizes[0] * each > POLICY.lazy:
        return None
    staged = unit.fn.stages(len(extents) + 1)
    if staged is None or prod(extents) * sizes[0] * _WIDEST * staged.peak > POLICY.lazy:
        return None
    return staged


def _in_stages(
    staged: Stages, unit: FnUnit, plan: LazyPlan, batch: int, count: int, every: bool, loop: Compute
) -> Compute:
    """Return the computation of one piece in stages; where a step fails, ``loop`` says what is wrong."""

    def run(leaves: Sequence[Tensor]) -> Sequence[Tensor]:
        results = staged.run(plan.run(leaves, batch), unit.start(batch), count, every)
        return loop(leaves) if results is None else results

    return run


def states(
    unit: FnUnit, plan: LazyPlan, leaves: Sequence[Tensor], outer: int, sizes: tuple[int, ...]
) -> Iterator[list[Tensor]]:
    """Yield the state after each folded position, innermost fastest. ``sizes`` are the folded ones, outermost first."""
    call = unit.fn.call
    state = unit.start(outer)
    rows = zip(*[positions(leaf, outer, sizes) for leaf in leaves], strict=True)
    if plan.steps:
        for row in rows:
            state = call((state, plan.run(row, outer)), outer)
            yield state
        return
    for row in rows:
        state = call((state, list(row)), outer)
        yield state


def positions(tensor: Tensor, axis: int, sizes: tuple[int, ...]) -> Iterator[Tensor]:
    """Yield ``tensor`` at each position of the axes from ``axis`` on, which have ``sizes`` or are compressed."""
    size, rest = sizes[0], sizes[1:]
    extent = tensor.shape[axis]
    if extent == 1 and size != 1:
        row = tensor.select(axis, 0)
        if not rest:
            return repeat(row, size)
        return (part for _ in range(size) for part in positions(row, axis, rest))
    if not rest:
        return _unbound(tensor, axis, extent)
    return (part for row in _unbound(tensor, axis, extent) for part in positions(row, axis, rest))


def _unbound(tensor: Tensor, axis: int, extent: int) -> Iterator[Tensor]:
    if extent <= _UNBIND:
        return iter(tensor.unbind(axis))
    starts = range(0, extent, _UNBIND)
    return (row for s in starts for row in tensor.narrow(axis, s, min(_UNBIND, extent - s)).unbind(axis))


def _alike(column: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Expand states of different compression (the first may lack an axis that later ones have) to one shape."""
    first = column[0].shape
    if all(t.shape == first for t in column):
        return column
    return tuple(torch.broadcast_tensors(*column))  # type: ignore[no-untyped-call]
