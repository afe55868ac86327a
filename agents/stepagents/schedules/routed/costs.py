"""What a routed program takes, in closed form, with so many rows for each expert. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from stepagents.schedules.costs import ALONE, LoadCost, ScheduleCosts, UnitCost
from stepagents.schedules.routed.experts import ExpertBlock, down_tile, tile_of
from stepagents.schedules.routed.memory import kept_bytes
from stepagents.schedules.routed.plan import MixturePlan, MixturePoint
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from stepcore.timing.hardware import Hardware

SCORED: Final = (16, 8, 4, 2, 1)  # rows that are scored at a time


def scored_at_once(plan: MixturePlan) -> int:
    """Return how many rows are scored at a time: so many that they divide the rows that follow one another."""
    rows = plan.mixture.rows
    last = rows[-1].size.bind(plan.bound) if rows else 1
    return next(each for each in SCORED if last % each == 0)


class MixtureCosts:
    """What a point takes: ``costs`` has units for the scores, for experts and for their second products, if any."""

    def __init__(self, plan: MixturePlan, point: MixturePoint, chip: Hardware, rows: Sequence[int]) -> None:
        self._plan = plan
        self._point = point
        self._chip = chip
        self._rows = rows
        self._tiles = [-(-each // point.rows) if point.rows else int(each > 0) for each in rows]
        self._heights = [point.rows or each for each in rows]
        self._regions = plan.count // point.shared
        self._steps = plan.cut.bind(plan.bound) // point.columns
        self.costs = self._counted()

    def _counted(self) -> ScheduleCosts:
        plan = self._plan
        costs = ScheduleCosts()
        calls = max(sum(self._tiles) * self._steps // self._regions, 1)
        high = sum(count * each for count, each in zip(self._tiles, self._heights, strict=True)) / max(
            sum(self._tiles), 1
        )
        block, scored = scored_at_once(plan), 0
        if plan.scorer is not None:
            scored = round(block * plan.scorer.columns.bind(plan.bound) * self._each(plan.scorer))
        costs.units.append(UnitCost(1, -(-plan.rows.bind(plan.bound) // block), scored))
        costs.units += [
            UnitCost(self._regions, calls, round(high * flops), (4 * prod(tile),))
            for flops, tile in zip(self._flops(), self._matrices(), strict=True)
        ]
        costs.loads += [LoadCost(self._regions, calls, self._bursts(tile)) for tile in self._matrices()]
        costs.kept = kept_bytes(plan, self._point, self._rows, block)
        return costs

    def _flops(self) -> list[int]:
        """Return the FLOPs of a row in one call of each unit of an expert: one for each matrix."""
        plan, expert = self._plan, self._plan.first
        block = expert.hidden or expert.outer
        found = [2 * self._point.columns * each.depth.bind(plan.bound) for _, each in block.products if each.depth]
        found[-1] += self._point.columns * block.each
        if expert.down is not None:
            found.append(2 * self._point.columns * expert.outer.columns.bind(plan.bound))
        return found

    def _each(self, block: ExpertBlock) -> int:
        return 2 * sum(each.depth.bind(self._plan.bound) for _, each in block.products if each.depth) + block.each

    def _matrices(self) -> list[tuple[int, int]]:
        """Return rows and columns of a tile of each matrix of an expert."""
        expert, columns = self._plan.first, Dim.of(self._point.columns)
        tiles = [tile_of(each, columns) for _, each in (expert.hidden or expert.outer).products]
        if expert.down is not None:
            tiles.append(down_tile(expert.down, columns, expert.outer.columns))
        return [(first.bind(self._plan.bound), second.bind(self._plan.bound)) for first, second in tiles]

    def _bursts(self, tile: tuple[int, int]) -> int:
        return tile[0] * -(-4 * tile[1] // self._chip.memory.burst)

    @property
    def dispatch(self) -> int | None:
        """The bursts per cycle of each port, so that all together can use the memory's peak."""
        return self.costs.dispatch(self._chip)

    @property
    def cycles(self) -> int:
        """About how many cycles the point takes: those of the region that has most to do, or of the memory."""
        dispatch = self.dispatch or self._chip.memory.dispatch
        bursts = [self._bursts(tile) for tile in self._matrices()]
        read = max(map(prod, self._matrices())) * 4 / self._chip.onchip.bandwidth
        port = max(max(bursts) / dispatch + ALONE, read)
        speeds = self.costs.speeds()
        units = list(zip(self._flops(), speeds[1:], strict=True))
        work = [0.0] * self._regions
        for expert, (tiles, high) in enumerate(zip(self._tiles, self._heights, strict=True)):
            flops = (high * each / speed for each, speed in units)
            work[expert // self._point.shared] += tiles * self._steps * max(port, *flops)
        peak = self._chip.memory.channels / self._chip.memory.interval
        moved = sum(self._tiles) * self._steps * sum(bursts) / peak
        scored = self.costs.units[0]
        return round(scored.calls * scored.flops / speeds[0] + max(moved, *work))
