"""What a routed program takes, in closed form, with so many rows for each expert. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Final

from stepagents.schedules.costs import ALONE, LoadCost, ScheduleCosts, UnitCost
from stepagents.schedules.parts import shape_of
from stepagents.schedules.routed.experts import Expert, ExpertBlock, down_tile, tile_of
from stepagents.schedules.routed.memory import kept_bytes
from stepagents.schedules.routed.plan import (
    MixturePlan,
    MixturePoint,
    cut_of,
    rows_of_all,
    scored_at_once,
    scored_width,
)
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from stepcore.timing.hardware import Hardware


_SOONER: Final = (1, 4, 16, 64)  # times the share of the work
_LANES: Final = (1, 2, 4, 8)  # of what no expert works beside
_BESIDE: Final = 0.002  # of the cycles of all weights: what takes less needs no more lanes


class MixtureCosts:
    """What a point takes: ``costs`` has units for the scores, for experts and for their second products, if any.

    Those of experts that every row goes to come last.
    """

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
        block = scored_at_once(plan)
        costs.units.append(self._scores(block))
        costs.units += [
            UnitCost(self._regions, calls, round(high * flops), (4 * prod(tile),))
            for flops, tile in zip(self._flops(plan.first), self._matrices(plan.first), strict=True)
        ]
        costs.loads += [LoadCost(self._regions, calls, self._bursts(tile)) for tile in self._matrices(plan.first)]
        for expert in plan.always:
            calls = self._all_tiles * self._steps_of(expert)
            for flops, tile in zip(self._flops(expert), self._matrices(expert), strict=True):
                costs.units.append(UnitCost(1, calls, self._high * flops, (4 * prod(tile),)))
                costs.loads.append(LoadCost(1, calls, self._bursts(tile)))
        costs.kept = kept_bytes(plan, self._point, self._rows, self.scorer_lanes)
        return costs

    def _scores(self, block: int) -> UnitCost:
        """Return what the scores of all rows take, ``block`` of them at once; nothing where they are given."""
        plan, scorer = self._plan, self._plan.scorer
        calls = -(-plan.rows.bind(plan.bound) // block)
        if scorer is None or scorer.takes is None:
            return UnitCost(1, calls, 0)
        given = block * shape_of(scorer.takes.node)[-1].bind(plan.bound)
        matrices = [[size.bind(plan.bound) for size in tile_of(each, scorer.columns)] for each in scorer.operands]
        flops = round(block * scorer.columns.bind(plan.bound) * self._each(scorer))
        lanes = self.scorer_lanes
        reads = tuple(4 * each // lanes for each in (given, *map(prod, matrices)))
        return UnitCost(lanes, calls, flops // lanes, reads)

    @cached_property
    def scorer_lanes(self) -> int:
        """In how many lanes rows are scored, each of a piece of their columns: no expert works beside them."""
        plan, scorer, width = self._plan, self._plan.scorer, scored_width(self._plan)
        if scorer is None or width is None:
            return 1
        block, rows = scored_at_once(plan), plan.rows.bind(plan.bound)
        read = rows // block * width * (block + scorer.columns.bind(plan.bound))
        whole = [each for each in _LANES if width % each == 0 and 4 * width // each % self._chip.memory.burst == 0]
        return self._fewest(4 * read, whole)

    @cached_property
    def result_lanes(self) -> int:
        """In how many lanes rows of the result go to memory: most of them come when experts have done their work."""
        rows = self._plan.rows.bind(self._plan.bound)
        written = 4 * rows * self._plan.first.outer.columns.bind(self._plan.bound)
        return self._fewest(written, [lanes for lanes in _LANES if lanes <= rows])

    def _fewest(self, moved: int, lanes: Sequence[int]) -> int:
        """Return the fewest lanes that move so many bytes through ports of units in a part of the whole's cycles."""
        alone = moved / self._chip.onchip.bandwidth
        return next((each for each in lanes if alone / each <= _BESIDE * self._moving), max(lanes, default=1))

    @cached_property
    def _moving(self) -> float:
        """The cycles in which the memory moves the weights."""
        peak = self._chip.memory.channels / self._chip.memory.interval
        moved = sum(self._tiles) * self._steps * self._moved(self._plan.first)
        for expert in self._plan.always:
            moved += self._all_tiles * self._steps_of(expert) * self._moved(expert)
        return moved / peak

    def _moved(self, expert: Expert) -> int:
        """Return the bursts of a tile of each matrix of an expert."""
        return sum(map(self._bursts, self._matrices(expert)))

    @property
    def _high(self) -> int:
        """The rows of a tile of an expert that every row goes to."""
        return rows_of_all(self._plan, self._point) or self._plan.rows.bind(self._plan.bound)

    @property
    def _all_tiles(self) -> int:
        """How many tiles all rows are."""
        return -(-self._plan.rows.bind(self._plan.bound) // self._high)

    def _steps_of(self, expert: Expert) -> int:
        return cut_of(expert).bind(self._plan.bound) // self._point.columns

    def _flops(self, expert: Expert) -> list[int]:
        """Return the FLOPs of a row in one call of each unit of an expert: one for each matrix."""
        plan = self._plan
        block = expert.hidden or expert.outer
        found = [2 * self._point.columns * each.depth.bind(plan.bound) for _, each in block.products if each.depth]
        found[-1] += self._point.columns * block.each
        if expert.down is not None:
            found.append(2 * self._point.columns * expert.outer.columns.bind(plan.bound))
        return found

    def _each(self, block: ExpertBlock) -> int:
        return 2 * sum(each.depth.bind(self._plan.bound) for _, each in block.products if each.depth) + block.each

    def _matrices(self, expert: Expert) -> list[tuple[int, int]]:
        """Return rows and columns of a tile of each matrix of an expert."""
        columns = Dim.of(self._point.columns)
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
        return self._cycles(self.speeds)

    @cached_property
    def speeds(self) -> list[int]:
        """The FLOPs per cycle of each kind of unit.

        No expert begins before all rows have their scores, so the units of those are faster than by their share of the
        work, as far as that makes the whole faster.
        """
        return min((self.costs.speeds(times) for times in _SOONER), key=self._cycles)

    def _cycles(self, speeds: Sequence[int]) -> int:
        first = self._plan.first
        port = self._port(first)
        units = list(zip(self._flops(first), speeds[1:], strict=False))
        work = [0.0] * self._regions
        for expert, (tiles, high) in enumerate(zip(self._tiles, self._heights, strict=True)):
            flops = (high * each / speed for each, speed in units)
            work[expert // self._point.shared] += tiles * self._steps * max(port, *flops)
        done = 1 + len(units)
        for always in self._plan.always:
            port = self._port(always)
            calls, each_row = self._all_tiles * self._steps_of(always), self._flops(always)
            flops = (self._high * each / speed for each, speed in zip(each_row, speeds[done:], strict=False))
            work.append(calls * max(port, *flops))
            done += len(each_row)
        scored = self.costs.units[0]
        once = max(scored.flops / speeds[0], sum(scored.reads) / self._chip.onchip.bandwidth)
        return round(scored.calls * once + max(self._moving, *work))

    def _port(self, expert: Expert) -> float:
        """Return in how many cycles the slowest port of an expert has a tile."""
        dispatch = self.dispatch or self._chip.memory.dispatch
        matrices = self._matrices(expert)
        bursts = max(map(self._bursts, matrices))
        read = max(map(prod, matrices)) * 4 / self._chip.onchip.bandwidth
        return max(bursts / dispatch + ALONE, read)
