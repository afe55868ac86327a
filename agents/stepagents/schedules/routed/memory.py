"""Bytes that a routed program keeps on chip, in closed form, by the rules of the language page ("Metrics"). No torch.

A port keeps two tiles, a product 16 columns of its rows and its matrix, a Retile what it joins, a Repeat what it
repeats, a fold its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from stepagents.schedules.indices import IndexedValue
from stepagents.schedules.parts import WHOLE, Blocks
from stepagents.schedules.routed.experts import Expert, ExpertBlock, down_tile, tile_of
from stepagents.schedules.routed.plan import MixturePlan, MixturePoint, rows_body, rows_of_all
from stepagents.schedules.tile_ops import KEPT_ROWS
from stepcore.sizes.dim import Dim

_BYTES: Final = 4  # of a number
_INDEX: Final = 8  # of a whole number


def kept_bytes(plan: MixturePlan, point: MixturePoint, rows: Sequence[int], lanes: int = 1) -> int:
    """Return the bytes on chip of a point's program, FIFOs left out.

    ``rows`` are those of each expert, ``lanes`` those in which rows are scored.
    """
    numbers = _ends(plan, lanes) + _regions(plan, point, rows)
    flags = plan.count * (1 + 2 * point.rows) if point.shared > 1 else 0  # which rows of a tile are filled up, buffered
    return _BYTES * numbers + flags + _INDEX  # the place of a row among its experts is a whole number


def _ends(plan: MixturePlan, lanes: int) -> int:
    """Return the numbers that are kept where rows are scored, and where what experts give is added up."""
    size = _Kept(plan)
    held = _computed(plan, plan.taken)
    if plan.scorer is not None and plan.scorer.takes is not None:
        if lanes > 1 or plan.scorer.takes.node is not plan.taken.node:  # pieces of rows are read for themselves
            held += _computed(plan, plan.scorer.takes)
        held += size.block(plan.scorer, plan.scorer.columns)
    gates = (share.value for expert in plan.always for share in expert.shares)
    held += sum(_computed(plan, gate) for gate in gates if isinstance(gate, IndexedValue))
    read = {part for part in (*plan.router.chosen.inputs, *plan.router.shares.inputs) if not part.bare}
    inputs = [*read, *(() if plan.residual is None else plan.residual.inputs)]
    parts = [
        Blocks({label: Dim.of(1) for label in part.labels if label != WHOLE}, plan.bound).tile(part) for part in inputs
    ]
    held += 2 * sum(prod(map(size, tile)) for tile in parts)
    return held + 3 * size(plan.first.outer.columns) + plan.mixture.choice.count  # a sum, two rows at the store; shares


def _computed(plan: MixturePlan, rows: IndexedValue) -> int:
    """Return the numbers that are kept where rows are read, and computed of what is read."""
    body = rows_body(plan, rows).body
    return 2 * sum(prod(body.blocks.numbers(part)) for part in body.inputs) + body.kept


def _regions(plan: MixturePlan, point: MixturePoint, rows: Sequence[int]) -> int:
    """Return the numbers that are kept in the regions of experts."""
    size = _Kept(plan)
    regions = plan.count // point.shared
    joined = plan.count * point.rows if point.rows else sum(rows)
    busy = regions * point.rows if point.rows else sum(rows)
    held = regions * size.weights(plan.first, point) + joined * plan.width + busy * size.busy(plan.first)
    every = rows_of_all(plan, point) or size(plan.rows)
    for expert in plan.always:
        held += size.weights(expert, point) + every * (plan.width + size.busy(expert))
    return held


class _Kept:
    """Sizes of a plan as numbers, and how many numbers the units that read a tensor keep."""

    def __init__(self, plan: MixturePlan) -> None:
        self._bound = plan.bound
        self._width = plan.width

    def __call__(self, size: Dim) -> int:
        return size.bind(self._bound)

    def block(self, block: ExpertBlock, columns: Dim) -> int:
        """Return what the ports and products of so many columns of a block keep."""
        return sum(self.tensor(tile_of(each, columns), each.depth) for each in block.operands)

    def weights(self, expert: Expert, point: MixturePoint) -> int:
        """Return what the units of one region of an expert keep of its tensors."""
        columns = Dim.of(point.columns)
        held = self.block(expert.hidden or expert.outer, columns)
        if expert.down is not None:
            held += self.tensor(down_tile(expert.down, columns, expert.outer.columns), columns)
            held += self.block(expert.outer, expert.outer.columns)
        return held

    def busy(self, expert: Expert) -> int:
        """Return what is kept of each row while an expert works on it: what is repeated, and what comes out."""
        return self._width + self(expert.outer.columns)

    def tensor(self, tile: tuple[Dim, Dim], depth: Dim | None) -> int:
        """Return what the port of a tile keeps, and the product that folds ``depth`` with it; None: there is none."""
        numbers = prod(map(self, tile))
        return 2 * numbers if depth is None else 3 * numbers + KEPT_ROWS * self(depth)
