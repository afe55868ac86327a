"""Routing by selectors: which positions each branch gets, and the merge of the branches. A bit is set when nonzero."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.sim.data import TensorData
from stepcore.sim.selection import Routes
from stepcore.sim.unit import FnUnit
from stepcore.text.wording import counted


def routes_of(selector: TensorData) -> Routes:
    """Return the routes of ``selector``, computed once per stream however many branches ask."""
    if selector.routes is None:
        bits = selector.dense()[0].flatten(0, len(selector.sizes) - 1) != 0
        selector.routes = Routes(bits)
    return selector.routes


def select(data: TensorData, selector: TensorData, branch: int) -> TensorData:
    """Keep the chunks of ``data`` whose bit ``branch`` is set, in order; the selector has data's outermost sizes."""
    index = routes_of(selector).indices[branch]
    inner, rank = len(data.sizes) - len(selector.sizes), len(data.sizes)
    merged = data.merge_dims(inner, rank - 1) if rank - inner > 1 else data
    parts = [t if t.shape[0] == 1 != merged.sizes[-1] else t.index_select(0, index) for t in merged.components]
    return TensorData((*data.sizes[:inner], index.shape[0]), data.element, parts)


def merge(unit: FnUnit, branches: Sequence[TensorData], selector: TensorData) -> TensorData:
    """Fold the next chunk of each selected branch, ascending, from the initial state; zeros where none is selected.

    Raises:
        SimError: STEP409, a branch has another size than its bits in the selector.
    """
    routes = routes_of(selector)
    for number, (branch, index) in enumerate(zip(branches, routes.indices, strict=True)):
        if branch.sizes[-1] != index.shape[0]:
            found, asked = counted(branch.sizes[-1], "chunk"), counted(index.shape[0], "bit")
            text = f"branch {number} has {found}, but the selector asks for it with {asked}; keep its outermost size"
            raise SimError("STEP409", text)
    common = branches[0].sizes[:-1]
    rank = len(common) + 1
    states = _states(unit, branches, routes, rank)
    if routes.nowhere.shape[0]:
        for state in states:
            state.index_fill_(0, routes.nowhere, 0)
    outer = selector.sizes[::-1]
    shaped = states if len(outer) == 1 else [t.view(*outer, *t.shape[1:]) for t in states]
    return TensorData(common + selector.sizes, unit.element, shaped)


def _states(unit: FnUnit, branches: Sequence[TensorData], routes: Routes, rank: int) -> list[Tensor]:
    """Return the folded states of all positions, one axis of positions first."""
    start = unit.start(rank)
    used = [(b, index) for b, index in zip(branches, routes.indices, strict=True) if index.shape[0]]
    extents = _common_extents([branch for branch, _ in used], rank)
    states = [_filled(t, (routes.positions, *extents, *t.shape[rank:])) for t in start]
    for branch, index in used:
        count = index.shape[0]
        before = start if routes.disjoint else [t.index_select(0, index) for t in states]
        after = unit.fn.call((before, list(branch.components)), rank)
        for state, value in zip(states, after, strict=True):
            state.index_copy_(0, index, value.expand(count, *extents, *value.shape[rank:]))
    return states


def _common_extents(branches: Sequence[TensorData], rank: int) -> list[int]:
    extents = [1] * (rank - 1)
    for branch in branches:
        for tensor in branch.components:
            for axis, extent in enumerate(tensor.shape[1:rank]):
                if extent != 1:
                    extents[axis] = extent
    return extents


def _filled(start: Tensor, shape: tuple[int, ...]) -> Tensor:
    return start.expand(shape).clone(memory_format=torch.contiguous_format)
