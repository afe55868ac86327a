"""Mixtures of experts over cycles and memory: static tiles of several sizes beside dynamic ones, and shared regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import geometric_mean
from time import thread_time
from typing import Final, TypeAlias

from benchmarks.harness import BenchReport
from benchmarks.mixtures import (
    MIXTRAL_CHOSEN,
    QWEN_CHOSEN,
    MixtureSizes,
    checked_mixture,
    mixtral,
    product_share,
    qwen,
)
from stepagents.schedules.routed.trace import Trace, routes_of, routing_trace
from stepcore.cycles.timed import Timed, time_program
from stepcore.timing.hardware import PRESETS

BUDGET: Final = 1_000_000_000  # steps: 20 times what a command may take


Setting: TypeAlias = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Front:
    """A mixture, experts of each row, rows of static tiles that it is timed with, and the published distance.

    ``settings`` are the skew of the routing trace and the FLOPs per cycle of a unit: the first is that of the table,
    for the others only relations are told.
    ``beside`` is the static tile that relations are told of.
    """

    name: str
    sizes: MixtureSizes
    chosen: int
    tiles: tuple[int, ...]
    published: float
    beside: int
    settings: tuple[Setting, ...]

    @property
    def what(self) -> str:
        """Name and rows."""
        return f"{self.name}, {self.sizes.batch:,}"


@dataclass(frozen=True, slots=True)
class Point:
    """One program of a front: ``tile`` are the rows of its static tiles, 0 for dynamic ones."""

    tile: int
    cycles: int
    on_chip: int
    off_chip: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Relations:
    """What a front says of its dynamic point: beside the tile told of in cycles and memory, and distances.

    ``sixth`` and ``rows_alone`` are distances where of the memory that does not grow with the rows of a tile, which is
    that of weights, a sixth counts, and none.
    """

    cycles: float
    memory: float
    distance: float
    sixth: float
    rows_alone: float


_UNIT: Final = PRESETS["paper"].compute.bandwidth
MIXTRAL_SKEW: Final = 0.0  # published: 4.64 million cycles with tiles of 16, which no expert of over 32 rows takes
QWEN_SKEW: Final = 1.5  # published: tiles of 8 take 1.69 times the cycles of dynamic ones, here 1.52; 1.02 if even
NARROW: Final = 8  # columns of weights
PUBLISHED_8: Final = 1.69  # cycles of Qwen's tiles of 8 over those of dynamic ones
FRONTS: Final = (
    Front(
        "Mixtral-like", mixtral(64), MIXTRAL_CHOSEN, (8, 16, 32, 64), 1.33, 16, ((MIXTRAL_SKEW, _UNIT), (0.5, _UNIT))
    ),
    Front(
        "Qwen-like",
        qwen(64),
        QWEN_CHOSEN,
        (4, 8, 16, 32),
        2.11,
        8,
        tuple((skew, _UNIT) for skew in (QWEN_SKEW, 0.0, 0.5, 1.0)),
    ),
    Front(
        "Mixtral-like",
        mixtral(1024),
        MIXTRAL_CHOSEN,
        (64, 128, 256, 512),
        1.86,
        256,
        ((MIXTRAL_SKEW, _UNIT), (MIXTRAL_SKEW, 4 * _UNIT)),
    ),
    Front(
        "Qwen-like", qwen(1024), QWEN_CHOSEN, (32, 64, 128, 256), 1.87, 64, ((QWEN_SKEW, _UNIT), (QWEN_SKEW, 4 * _UNIT))
    ),
    # The same with narrower tiles of weights, for static and dynamic tiles alike: as many cycles, less memory.
    Front(
        f"Mixtral-like, weights by {NARROW}",
        mixtral(64, NARROW),
        MIXTRAL_CHOSEN,
        (8, 16, 32, 64),
        1.33,
        16,
        ((MIXTRAL_SKEW, _UNIT),),
    ),
    Front(
        f"Qwen-like, weights by {NARROW}", qwen(64, NARROW), QWEN_CHOSEN, (4, 8, 16, 32), 2.11, 8, ((QWEN_SKEW, _UNIT),)
    ),
)
SHARED: Final = (1, 2, 4, 8, 16)  # experts of a region
_FEW: Final = 4
_TRACES: Final = tuple((skew, seed) for skew in (0.5, QWEN_SKEW) for seed in range(3))  # the first with all of these


def run_fronts() -> list[BenchReport]:
    """Measure on one thread; all times are of the processor."""
    points = {(front, setting): _points(front, *setting) for front in FRONTS for setting in front.settings}
    return [_fronts(points), _relations(points)]


def distance(point: tuple[float, float], front: Sequence[tuple[float, float]]) -> float:
    """Return the factor by which the nearest of ``front`` would have to get better in cycles and in memory alike to
    reach ``point``: over 1 where the point lies beyond the front, under 1 where one of it is better in both.
    """
    return min(max(cycles / point[0], memory / point[1]) for cycles, memory in front)


def relations(points: Sequence[Point], beside: int) -> Relations:
    """Return the relations of a front; what static tiles keep whatever their rows follows from two of them."""
    dynamic, static = points[0], points[1:]
    chosen = next(point for point in static if point.tile == beside)
    small, large = static[0], static[-1]
    fixed = small.on_chip - (large.on_chip - small.on_chip) / (large.tile - small.tile) * small.tile
    whole, sixth, rows = (
        distance((dynamic.cycles, dynamic.on_chip - less), [(point.cycles, point.on_chip - less) for point in static])
        for less in (0, fixed * 5 / 6, fixed)
    )
    return Relations(chosen.cycles / dynamic.cycles, chosen.on_chip / dynamic.on_chip, whole, sixth, rows)


Points: TypeAlias = Mapping[tuple[Front, Setting], Sequence[Point]]


def _points(front: Front, skew: float, bandwidth: int) -> list[Point]:
    trace = routing_trace(front.sizes.batch, front.sizes.experts, front.chosen, skew=skew, seed=0)
    found = []
    for tile in (0, *front.tiles):
        timed, cycles, seconds = _timed(front.sizes, tile, 1, trace, bandwidth)
        found.append(Point(tile, cycles, timed.on_chip or 0, timed.off_chip_bytes, seconds))
    return found


def _fronts(points: Points) -> BenchReport:
    title = (
        "Static tiles beside dynamic ones: 8 experts of 14,336 columns (2 for each row), 128 of 768 (8 for each row)"
    )
    columns = ("mixture, rows", "tiles", "cycles", "off chip, GB", "on chip, MB", "static over dynamic", "s")
    report = BenchReport("generation2-fronts", title, columns)
    least = []
    for front in FRONTS:
        found = points[front, front.settings[0]]
        for point in found:
            report.rows.append(
                [
                    front.what, f"{point.tile} rows" if point.tile else "dynamic", f"{point.cycles:,}",
                    f"{point.off_chip / 1e9:.2f}", f"{point.on_chip / 1e6:.1f}",
                    f"{point.cycles / found[0].cycles:.2f}", f"{point.seconds:.2f}",
                ]
            )  # fmt: skip
            report.figures[f"{front.what}, {point.tile}"] = asdict(point)
        far = relations(found, front.beside).distance
        least.append(far)
        report.figures[f"{front.what}: distance"] = far
        off = abs(far / front.published - 1) * 100
        report.goal(f"{front.what}: distance {far:.2f}x beside the published {front.published}x", off, 15, " % off")
    report.goal("distance from the front, the least: the direction holds", min(least), 1, "x", at_least=True)
    return report


def _relations(points: Points) -> BenchReport:
    title = "The same with other routing and faster units, and with less of the weights counted as memory"
    columns = (
        "mixture, rows, skew, FLOPs per cycle", "static tile", "its cycles over dynamic",
        "its memory over dynamic", "distance", "with a sixth of the weights", "rows alone", "published",
    )  # fmt: skip
    report = BenchReport("generation2-relations", title, columns)
    found = {key: relations(of, key[0].beside) for key, of in points.items()}
    for (front, (skew, bandwidth)), each in found.items():
        report.rows.append(
            [
                f"{front.what}, {skew}, {bandwidth:,}", f"{front.beside} rows", f"{each.cycles:.2f}",
                f"{each.memory:.2f}", f"{each.distance:.2f}", f"{each.sixth:.2f}", f"{each.rows_alone:.2f}",
                f"{front.published:.2f}",
            ]
        )  # fmt: skip
        report.figures[f"{front.what}, {skew}, {bandwidth}"] = asdict(each)
    qwen_like = FRONTS[1]
    alike = found[qwen_like, (QWEN_SKEW, _UNIT)]
    text = f"Qwen-like, skew {QWEN_SKEW}"
    off = abs(alike.cycles / PUBLISHED_8 - 1) * 100
    report.goal(f"{text}: tiles of 8 take {alike.cycles:.2f}x beside the published {PUBLISHED_8}x", off, 15, " % off")
    off = abs(alike.rows_alone / qwen_like.published - 1) * 100
    text = f"{text}: distance by rows alone {alike.rows_alone:.2f}x beside the published {qwen_like.published}x"
    report.goal(text, off, 15, " % off")
    least = min(each.distance for each in found.values())
    report.goal("distance from the front, the least: the direction holds", least, 1, "x", at_least=True)
    return report


@dataclass(frozen=True, slots=True)
class Region:
    """A mixture whose regions serve so many experts: cycles, bytes on chip, share of its products' compute."""

    cycles: int
    on_chip: int
    products: float
    seconds: float


def run_regions() -> BenchReport:
    """Measure on one thread; all times are of the processor."""
    title = "Regions that several experts share, in turn: 128 experts of 768 columns, 64 rows, static tiles of 16"
    columns = ("skew, seed", "experts of a region", "cycles", "on chip, MB", "products computed, %", "over alone", "s")
    report = BenchReport("generation2-shared", title, columns)
    found = {trace: _regions(report, *trace, SHARED if trace == _TRACES[0] else (1, _FEW)) for trace in _TRACES}
    alone, few = found[_TRACES[0]][1], found[_TRACES[0]][_FEW]
    text, times = f"{_FEW} experts of a region", few.products / alone.products
    report.goal(f"{text}: utilization of products over that alone", times, 2.64, "x", at_least=True)
    freed = (1 - few.on_chip / alone.on_chip) * 100
    report.goal(f"{text}: memory freed (published: 46 %)", freed, 46, " %", at_least=True)
    for skew in dict.fromkeys(skew for skew, _ in _TRACES):
        longer = [each[_FEW].cycles / each[1].cycles for (of, _), each in found.items() if of == skew]
        mean = (geometric_mean(longer) - 1) * 100
        report.figures[f"skew {skew}: further cycles"] = longer
        report.goal(f"{text}, skew {skew}: further cycles in the mean (published: under 1 %)", mean, 1, " %")
    return report


def _regions(report: BenchReport, skew: float, seed: int, shares: Sequence[int]) -> dict[int, Region]:
    """Time regions on one trace, a row each."""
    front, tile = FRONTS[1], 16
    trace = routing_trace(front.sizes.batch, front.sizes.experts, front.chosen, skew=skew, seed=seed)
    found: dict[int, Region] = {}
    for shared in shares:
        timed, cycles, seconds = _timed(front.sizes, tile, shared, trace)
        each = found[shared] = Region(cycles, timed.on_chip or 0, product_share(timed), seconds)
        report.rows.append(
            [
                f"{skew}, {seed}", str(shared), f"{cycles:,}", f"{each.on_chip / 1e6:.1f}",
                f"{each.products * 100:.2f}", f"{cycles / found[1].cycles:.3f}", f"{seconds:.2f}",
            ]
        )  # fmt: skip
        report.figures[f"{skew}, {seed}: {shared} experts"] = asdict(each)
    return found


def _timed(
    sizes: MixtureSizes, tile: int, shared: int, trace: Trace, bandwidth: int = _UNIT
) -> tuple[Timed, int, float]:
    """Return the timing of a program from its text, its cycles, and the seconds that this took."""
    start = thread_time()
    checked, chip = checked_mixture(sizes, tile, shared), PRESETS["paper"]
    chip = replace(chip, compute=replace(chip.compute, bandwidth=bandwidth))
    routes = routes_of(checked.typed, trace, sizes.experts, tile)
    timed = time_program(checked, chip, routes=routes, budget=BUDGET)
    if timed.cycles is None:
        raise SystemExit(f"tiles of {tile}, {shared} experts of a region: it stopped")
    return timed, timed.cycles, thread_time() - start
