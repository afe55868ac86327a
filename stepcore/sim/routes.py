"""Routing by selectors: which positions each branch gets, and the merge of the branches. A bit is set when nonzero."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.sim.data import TensorData
from stepcore.sim.ragged import StreamData, chunks
from stepcore.sim.selection import Routes
from stepcore.sim.unit import FnUnit
from stepcore.text.wording import counted


def routes_of(selector: TensorData) -> Routes:
    """Return the routes of ``selector``, computed once per stream however many branches ask."""
    if selector.routes is None:
        bits = selector.dense()[0].flatten(0, len(selector.sizes) - 1) != 0
        selector.routes = Routes(bits)
    return selector.routes


def rows_of(selector: TensorData) -> list[tuple[int, ...]]:
    """Return the branches whose bit is set, ascending, for each position of ``selector`` in order of time."""
    routes = routes_of(selector)
    rows: list[list[int]] = [[] for _ in range(routes.positions)]
    for branch, index in enumerate(routes.indices):
        for position in index.tolist():
            rows[position].append(branch)
    return [tuple(row) for row in rows]


def fitting_routes(branches: Sequence[StreamData], selector: TensorData) -> Routes:
    """Return the routes of ``selector``.

    Raises:
        SimError: STEP409, a branch has another outermost size than its bits in the selector.
    """
    routes = routes_of(selector)
    for number, (branch, index) in enumerate(zip(branches, routes.indices, strict=True)):
        if branch.sizes[-1] != index.shape[0]:
            found, asked = counted(branch.sizes[-1], "chunk"), counted(index.shape[0], "bit")
            text = f"branch {number} has {found}, but the selector asks for it with {asked}; keep its outermost size"
            raise SimError("STEP409", text)
    return routes


def select(data: StreamData, selector: TensorData, branch: int) -> StreamData:
    """Keep the outermost chunks of ``data`` whose bit ``branch`` is set, in order."""
    return chunks(data, routes_of(selector).indices[branch])


def merge(unit: FnUnit, branches: Sequence[TensorData], selector: TensorData) -> TensorData:
    """Fold the next chunk of each selected branch, ascending, from the initial state; zeros where none is selected.

    Raises:
        SimError: see :func:`fitting_routes`.
    """
    routes = fitting_routes(branches, selector)
    common = branches[0].sizes[:-1]
    rank = len(common) + 1
    states = _states(unit, branches, routes, rank)
    if routes.nowhere.shape[0]:
        for state in states:
            state.index_fill_(0, routes.nowhere, 0)
    return TensorData((*common, routes.positions), unit.element, states)


def _states(unit: FnUnit, branches: Sequence[TensorData], routes: Routes, rank: int) -> list[Tensor]:
    """Return the folded states of all positions, one axis of positions first."""
    start = unit.start(rank)
    used = [(b, index) for b, index in zip(branches, routes.indices, strict=True) if index.shape[0]]
    extents = _common_extents([branch for branch, _ in used], rank)
    states = [filled(t, (routes.positions, *extents, *t.shape[rank:])) for t in start]
    disjoint = routes.disjoint
    for branch, index in used:
        count = index.shape[0]
        before = start if disjoint else [t.index_select(0, index) for t in states]
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


def filled(start: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return memory of its own for states, which holds the initial one."""
    return start.expand(shape).clone(memory_format=torch.contiguous_format)
