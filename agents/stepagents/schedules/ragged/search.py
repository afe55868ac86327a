"""The best program of attention over caches of different lengths: tiles, lanes and dealing, searched on drawn lengths.

The closed form deals the lengths out as a run would, so it ranks all points within a few per cent, and the exact engine
times the best of each way of dealing. So dynamic lanes are taken where, and only where, they are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from stepagents.schedules.costs import ALONE, CAPACITY
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.programs import Tiled
from stepagents.schedules.ragged.attention import RaggedAttention, ragged_attention
from stepagents.schedules.ragged.estimate import TilePace, lane_cycles
from stepagents.schedules.ragged.lanes import LaneWriter
from stepagents.schedules.ragged.points import Dealing, LanePoint
from stepagents.schedules.ragged.trace import drawn_lengths, parts_of, routes_of, tiles_of
from stepagents.schedules.ranking import Ranking, TimedPoint, beside
from stepagents.schedules.search import ScheduleOptions, TiledLowering, refused
from stepcore.cycles.routes import ProgramRoutes
from stepcore.records import Record
from stepcore.timing.hardware import Hardware

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction

DEALINGS: Final[tuple[Dealing, ...]] = ("coarse", "interleaved", "dynamic", "longest")
_SEED: Final = 0
LANES: Final = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_ROWS: Final = (8, 16, 32, 64, 128, 256, 512)
_PARTS: Final = (2, 4, 8, 16)  # of a request
_MOST_TILES: Final = 1 << 12  # of all caches together, where larger ones do: each is timed


class RaggedOptions(Record):
    """The chip, the bytes that may be kept on it, how many programs are wanted, and what is searched.

    ``lengths`` are those of the requests to search with, drawn where there are none. ``dispatch`` are the bursts per
    cycle of a port; where it is None, all ports together may use the memory's peak. ``exact`` points of each way of
    dealing are timed.
    """

    chip: Hardware
    capacity: int = CAPACITY
    wanted: int = 1
    lengths: tuple[int, ...] = ()
    dealings: tuple[Dealing, ...] = DEALINGS
    lanes: tuple[int, ...] = LANES
    rows: tuple[int, ...] = _ROWS
    dispatch: int | None = None
    exact: int = 1


def ragged_schedules(
    traced: TracedFunction, options: ScheduleOptions, tell: Callable[[int], None] = lambda _tried: None
) -> TiledLowering | None:
    """Return timed programs for a function whose work follows lengths; None for any other function."""
    found = TiledLowering()
    try:
        plan = ragged_attention(traced)
        if plan is None:
            return None
        wanted = RaggedOptions(options.chip, options.capacity, options.wanted)
        search = RaggedSearch(traced, plan, wanted)
        best = search.best(tell)
    except NoSchedule as error:
        return refused(found, error, "attention over filled caches cannot be dealt to lanes")
    found.tried = search.ranking.tried
    ordered = sorted((each for group in best.values() for each in group), key=lambda each: each.cycles)
    others = _beside(best)
    found.programs = [
        replace(each.program, schedule=f"{each.point.text}{others}") for each in ordered[: options.wanted]
    ]
    return found


def _beside(best: dict[Dealing, list[TimedPoint[LanePoint]]]) -> str:
    """Say how many cycles the best of each way of dealing takes, on which lengths."""
    cycles = {dealing: group[0].cycles for dealing, group in best.items()}
    told = beside(cycles, lambda dealing: f"{dealing} {cycles[dealing]:,}")
    return f"; cycles of the best lanes on drawn lengths: {told}"


class RaggedSearch:
    """The points of one function at its sizes."""

    def __init__(self, traced: TracedFunction, plan: RaggedAttention, options: RaggedOptions) -> None:
        bound = {**traced.dims, **traced.bound}
        self._plan = plan
        self._options = options
        self._writer = LaneWriter(traced, plan, bound)
        self.lengths = options.lengths or drawn_lengths(plan.requests.bind(bound), self._writer.most, _SEED)
        self.ranking: Ranking[LanePoint] = Ranking(
            options.chip, options.capacity, self._written, self._estimate, self._routes
        )
        self._known: dict[LanePoint, ProgramRoutes] = {}

    def best(self, tell: Callable[[int], None] = lambda _tried: None) -> dict[Dealing, list[TimedPoint[LanePoint]]]:
        """Return the fastest points of each way of dealing, the fewest cycles first, timed exactly.

        Raises:
            NoSchedule: there is none.
        """
        ranking, exact = self.ranking, partial(self.ranking.timed, engine="exact", most=self._options.exact)
        return ranking.best_of(((each, self._points(each)) for each in self._options.dealings), exact, tell)

    def _points(self, dealing: Dealing) -> Iterator[LanePoint]:
        """Yield the points of a way of dealing; requests are cut where lanes would have less than two of them."""
        requests, dispatch = self._writer.requests, self._options.dispatch
        for lanes in self._options.lanes:
            cut = [parts for parts in _PARTS if requests < 2 * lanes <= 4 * requests * parts]
            for parts in [*([1] if lanes <= requests else []), *cut]:
                if lanes == 1 and dealing != "interleaved":
                    continue
                for rows in self._rows():
                    yield LanePoint(rows, lanes, dealing, dispatch, parts)

    def _rows(self) -> list[int]:
        """Return the rows that a tile may have."""
        fitting = [rows for rows in self._options.rows if self._writer.most % rows == 0] or [1]
        return [rows for rows in fitting if sum(self._tiles(rows)) <= _MOST_TILES] or fitting[-1:]

    def _tiles(self, rows: int) -> list[int]:
        return tiles_of(self._plan, self.lengths, rows, self._writer.bound)

    def _written(self, point: LanePoint) -> Tiled:
        total, chip = sum(self._tiles(point.rows)), self._options.chip
        program = self._writer.written(point, chip, total)
        dispatch = program.costs.dispatch(chip) if point.dispatch is None else None
        return program if dispatch is None else self._writer.written(replace(point, dispatch=dispatch), chip, total)

    def _estimate(self, point: LanePoint, program: Tiled) -> int:
        """Return about how many cycles a point takes on the lengths that are searched with."""
        chip, costs = self._options.chip, program.costs
        dispatch = point.dispatch or costs.dispatch(chip) or chip.memory.dispatch
        caches = costs.loads[:2]
        stages = [load.bursts / dispatch + ALONE for load in caches]
        for unit, speed in zip(costs.units, costs.speeds(), strict=True):
            stages.append(max(unit.flops / speed, sum(unit.reads) / chip.onchip.bandwidth))
        peak = chip.memory.channels / chip.memory.interval
        query = (costs.loads[-1].bursts / dispatch + ALONE) / point.parts
        pieces = parts_of(self._tiles(point.rows), point.parts)
        pace = TilePace(max(stages), sum(load.bursts for load in caches) / peak, query)
        return round(lane_cycles(point.dealing, pieces, point.lanes, pace) + sum(stages))

    def _routes(self, point: LanePoint, program: Tiled) -> ProgramRoutes:
        if point not in self._known:
            self._known[point] = routes_of(program, self._plan, self.lengths, point.lanes * point.parts)
        return self._known[point]
