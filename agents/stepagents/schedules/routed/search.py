"""The best program of a mixture of experts: dynamic or static tiles, searched with routes that were drawn.

As for regular functions: the closed form ranks all points, the fluid engine times the best of each way to form tiles,
the exact engine the best of those. So dynamic tiles are taken where, and only where, they are better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING, Final

from stepagents.schedules.costs import CAPACITY, alone_dispatch
from stepagents.schedules.front import front
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.programs import Tiled
from stepagents.schedules.ranking import Ranking, TimedPoint, beside
from stepagents.schedules.routed.costs import MixtureCosts
from stepagents.schedules.routed.plan import MixturePlan, MixturePoint, cut_of, plan_of
from stepagents.schedules.routed.trace import Trace, routes_of, routing_trace, rows_of_experts
from stepagents.schedules.routed.writer import written
from stepagents.schedules.search import ScheduleOptions, TiledLowering, refused
from stepagents.schedules.sizes import divisors
from stepcore.cycles.routes import ProgramRoutes
from stepcore.records import Record
from stepcore.timing.hardware import Hardware

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction

_SEED: Final = 0
_SKEW: Final = 1.0  # of the routes that are drawn: expert of rank r is as popular as 1/r
_COLUMNS: Final = (4, 256)  # of a tile of weights, from and to; whether they fill bursts is the closed form's to say
_ROWS: Final = (4, 8, 16, 32, 64)
_SHARED: Final = (2, 4, 8, 16, 32)
_FLUID: Final = 2  # points of each way that the fluid engine times
_EXACT: Final = 1
_ALIKE: Final = 1.01  # times the fewest cycles: among those, the fewest bytes come first


class RoutedOptions(Record):
    """The chip, the bytes that may be kept on it, the routes to search with, drawn where there are none, and points.

    ``rows`` are those of static tiles, 0 stands for dynamic ones; ``shared`` how many experts share a region.
    """

    chip: Hardware
    capacity: int = CAPACITY
    trace: Trace = ()
    rows: tuple[int, ...] = (0, *_ROWS)
    shared: tuple[int, ...] = _SHARED


def routed_schedules(
    traced: TracedFunction, options: ScheduleOptions, tell: Callable[[int], None] = lambda _tried: None
) -> TiledLowering | None:
    """Return timed programs for a mixture of experts; None for any other function."""
    found = TiledLowering()
    try:
        plan = plan_of(traced, {**traced.dims, **traced.bound})
        if plan is None:
            return None
        search = RoutedSearch(traced, plan, RoutedOptions(options.chip, options.capacity))
        best = search.best(tell)
    except NoSchedule as error:
        return refused(found, error, "experts cannot be routed")
    found.tried = search.ranking.tried
    timed = [each for group in best.values() for each in group]
    ordered = in_order(timed)
    others = _beside(best)
    for each in timed:
        each.program.schedule = f"{each.point.text}{others if each is ordered[0] else ''}"
    found.programs = [each.program for each in ordered[: options.wanted]]
    rest = front(timed, lambda each: each.cycles, _kept)
    least = _kept(ordered[0])
    found.smaller = [each.program for each in rest if _kept(each) < least][: options.smaller]
    return found


def in_order(timed: Sequence[TimedPoint[MixturePoint]]) -> list[TimedPoint[MixturePoint]]:
    """Return programs, the best first: the fewest cycles, and among those about alike the fewest bytes on chip."""
    fewest = min(each.cycles for each in timed)
    return sorted(timed, key=lambda each: (max(each.cycles, _ALIKE * fewest), _kept(each), each.cycles))


def _kept(each: TimedPoint[MixturePoint]) -> int:
    """Return the bytes on chip of a point that was timed exactly."""
    return each.on_chip or 0


def _beside(best: dict[str, list[TimedPoint[MixturePoint]]]) -> str:
    """Say how many cycles, and how many bytes, the best of each way to form tiles takes, with drawn routes."""
    firsts = {way: in_order(group)[0] for way, group in best.items()}
    cycles = {way: each.cycles for way, each in firsts.items()}
    told = beside(cycles, lambda way: f"{way} {cycles[way]:,} and {_kept(firsts[way]):,} B")
    bound = "`stepsmith time` counts every row for every expert where it has no run, an upper bound"
    return f"; cycles of the best tiles with drawn routes, and bytes on chip: {told} ({bound})"


class RoutedSearch:
    """The points of one mixture at its sizes."""

    def __init__(self, traced: TracedFunction, plan: MixturePlan, options: RoutedOptions) -> None:
        self._traced = traced
        self._plan = plan
        self._options = options
        rows, chosen = plan.rows.bind(plan.bound), plan.mixture.choice.count
        self.trace = options.trace or routing_trace(rows, plan.count, chosen, skew=_SKEW, seed=_SEED)
        self._rows = rows_of_experts(self.trace, plan.count)
        self.ranking: Ranking[MixturePoint] = Ranking(
            options.chip, options.capacity, self._written, self._estimate, self._routes
        )

    def best(self, tell: Callable[[int], None] = lambda _tried: None) -> dict[str, list[TimedPoint[MixturePoint]]]:
        """Return the best points of each way to form tiles, the fewest cycles first, timed exactly.

        Raises:
            NoSchedule: there is none.
        """
        return self.ranking.best_of(self._ways().items(), self._timed, tell)

    def _timed(self, ranked: list[TimedPoint[MixturePoint]]) -> list[TimedPoint[MixturePoint]]:
        """Return the best of ranked points.

        Ports that ask for less than the memory gives leave it idle where few of them still read; those that ask for all
        of it may meet on its channels. Which of both costs more, only the exact engine knows.
        """
        best = self.ranking.timed(ranked, "fluid", _FLUID)[:_EXACT]
        asking = [replace(each.point, dispatch=alone_dispatch(self._options.chip)) for each in best]
        exact = self.ranking.timed([*best, *self.ranking.ranked(asking)], "exact")
        return exact[:_EXACT]

    def _ways(self) -> dict[str, list[MixturePoint]]:
        cuts = (cut_of(each).bind(self._plan.bound) for each in (self._plan.first, *self._plan.always))
        columns = divisors(gcd(*cuts), *_COLUMNS)
        ways: dict[str, list[MixturePoint]] = {}
        for rows in self._options.rows:
            if rows <= max(2 * max(self._rows), _ROWS[0]):
                points = [MixturePoint(each, rows) for each in columns]
                ways.setdefault("static" if rows else "dynamic", []).extend(points)
        shared = [each for each in self._options.shared if self._plan.is_stacked and self._plan.count % each == 0]
        points = [replace(each, shared=count) for each in ways.get("static", ()) for count in shared]
        if points:
            ways["static in shared regions"] = points
        return ways

    def _costs(self, point: MixturePoint) -> MixtureCosts:
        return MixtureCosts(self._plan, point, self._options.chip, self._rows)

    def _written(self, point: MixturePoint) -> Tiled:
        served = point if point.dispatch else replace(point, dispatch=self._costs(point).dispatch)
        return written(self._traced, self._plan, served, self._options.chip, self._rows)

    def _estimate(self, point: MixturePoint, _program: Tiled) -> int:
        return self._costs(point).cycles

    def _routes(self, point: MixturePoint, program: Tiled) -> ProgramRoutes:
        return routes_of(program.checked.typed, self.trace, self._plan.count, point.rows)
