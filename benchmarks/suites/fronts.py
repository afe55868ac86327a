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


_UNIT: Final = PRESETS["paper"].compute.bandwidth


@dataclass(frozen=True, slots=True)
class Setting:
    """Skew and seed of the routing trace, FLOPs per cycle of a unit."""

    skew: float
    bandwidth: int = _UNIT
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Front:
    """A mixture, experts of each row, rows of static tiles that it is timed with, and the published distance.

    The first of ``settings`` is that of the table, for the others only relations are told. ``beside`` is the static
    tile that relations are told of.
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
    that of weights, a sixth counts, and none. ``reached_memory`` and ``reached`` are memory and distance where dynamic
    tiles need it for those experts alone that get rows.
    """

    cycles: float
    memory: float
    distance: float
    sixth: float
    rows_alone: float
    reached_memory: float
    reached: float


MIXTRAL_SKEW: Final = 0.0  # published: 4.64 million cycles with tiles of 16, which no expert of over 32 rows takes
QWEN_SKEW: Final = 1.75  # published: tiles of 8 take 1.69 times the cycles of dynamic ones, here 1.63; 1.02 if even
QWEN_SKEW_LARGE: Final = 2.5  # of 1,024 rows that are drawn each by itself; 1.75 leaves no expert without rows
NARROW: Final = 8  # columns of weights
PUBLISHED_8: Final = 1.69  # cycles of Qwen's tiles of 8 over those of dynamic ones
PUBLISHED_8_MEMORY: Final = 2.1
_EIGHT: Final = 8  # rows
_SEEDS: Final = range(3)
_FASTER: Final = 2 * _UNIT
FRONTS: Final = (
    Front(
        "Mixtral-like", mixtral(64), MIXTRAL_CHOSEN, (8, 16, 32, 64), 1.33, 16, (Setting(MIXTRAL_SKEW), Setting(0.5))
    ),
    Front(
        "Qwen-like", qwen(64), QWEN_CHOSEN, (4, 8, 16, 32), 2.11, 8,
        tuple(map(Setting, (QWEN_SKEW, 0.0, 0.5, 1.0, 1.5))),
    ),
    Front(
        "Mixtral-like", mixtral(1024), MIXTRAL_CHOSEN, (64, 128, 256, 512), 1.86, 256,
        tuple(Setting(MIXTRAL_SKEW, times * _UNIT) for times in (1, 4)),
    ),
    Front(
        "Qwen-like", qwen(1024), QWEN_CHOSEN, (32, 64, 128, 256), 1.87, 64,
        tuple(Setting(QWEN_SKEW, times * _UNIT) for times in (1, 4)),
    ),
    # The same with narrower tiles of weights, for static and dynamic tiles alike: as many cycles, less memory.
    Front(
        f"Mixtral-like, weights by {NARROW}", mixtral(64, NARROW), MIXTRAL_CHOSEN, (8, 16, 32, 64), 1.33, 16,
        tuple(Setting(MIXTRAL_SKEW, seed=seed) for seed in _SEEDS),
    ),
    Front(
        f"Qwen-like, weights by {NARROW}", qwen(64, NARROW), QWEN_CHOSEN, (4, 8, 16, 32), 2.11, 8,
        tuple(Setting(QWEN_SKEW, seed=seed) for seed in _SEEDS),
    ),
    Front(
        f"Mixtral-like, weights by {NARROW}", mixtral(1024, NARROW), MIXTRAL_CHOSEN, (64, 128, 256, 512), 1.86, 256,
        tuple(Setting(MIXTRAL_SKEW, _FASTER, seed) for seed in _SEEDS),
    ),
    Front(
        f"Qwen-like, weights by {NARROW}", qwen(1024, NARROW), QWEN_CHOSEN, (32, 64, 128, 256), 1.87, 64,
        (*(Setting(QWEN_SKEW_LARGE, _FASTER, seed) for seed in _SEEDS), Setting(QWEN_SKEW, _FASTER)),
    ),
)  # fmt: skip
SHARED: Final = (1, 2, 4, 8, 16)  # experts of a region
_FEW: Final = 4
_TRACES: Final = tuple((skew, seed) for skew in (0.5, 1.5) for seed in _SEEDS)  # the first with all of these


def run_fronts() -> list[BenchReport]:
    """Measure on one thread; all times are of the processor."""
    points = {(front, setting): _points(front, setting) for front in FRONTS for setting in front.settings}
    return [_fronts(points), _relations(points)]


def distance(point: tuple[float, float], front: Sequence[tuple[float, float]]) -> float:
    """Return the factor by which the nearest of ``front`` would have to get better in cycles and in memory alike to
    reach ``point``: over 1 where the point lies beyond the front, under 1 where one of it is better in both.
    """
    return min(max(cycles / point[0], memory / point[1]) for cycles, memory in front)


def relations(points: Sequence[Point], beside: int, reached: float = 1.0) -> Relations:
    """Return the relations of a front; what static tiles keep whatever their rows follows from two of them.

    ``reached`` is the share of the experts that get rows.
    """
    dynamic, static = points[0], points[1:]
    chosen = next(point for point in static if point.tile == beside)
    small, large = static[0], static[-1]
    fixed = small.on_chip - (large.on_chip - small.on_chip) / (large.tile - small.tile) * small.tile
    whole, sixth, rows = (
        distance((dynamic.cycles, dynamic.on_chip - less), [(point.cycles, point.on_chip - less) for point in static])
        for less in (0, fixed * 5 / 6, fixed)
    )
    kept = dynamic.on_chip - fixed * (1 - reached)
    far = distance((dynamic.cycles, kept), [(point.cycles, point.on_chip) for point in static])
    cycles, memory = chosen.cycles / dynamic.cycles, chosen.on_chip / dynamic.on_chip
    return Relations(cycles, memory, whole, sixth, rows, chosen.on_chip / kept, far)


Points: TypeAlias = Mapping[tuple[Front, Setting], Sequence[Point]]


def _trace(front: Front, setting: Setting) -> Trace:
    sizes = front.sizes
    return routing_trace(sizes.batch, sizes.experts, front.chosen, skew=setting.skew, seed=setting.seed)


def _points(front: Front, setting: Setting) -> list[Point]:
    trace = _trace(front, setting)
    found = []
    for tile in (0, *front.tiles):
        timed, cycles, seconds = _timed(front.sizes, tile, 1, trace, setting.bandwidth)
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
        "mixture, rows, skew, seed, FLOPs per cycle", "experts with rows", "static tile", "its cycles over dynamic",
        "its memory over dynamic", "distance", "with a sixth of the weights", "rows alone",
        "memory, experts with rows alone", "distance so", "published",
    )  # fmt: skip
    report = BenchReport("generation2-relations", title, columns)
    found: dict[tuple[Front, Setting], Relations] = {}
    for (front, setting), of in points.items():
        reached = len({expert for row in _trace(front, setting) for expert in row})
        each = found[front, setting] = relations(of, front.beside, reached / front.sizes.experts)
        what = f"{front.what}, {setting.skew}, {setting.seed}, {setting.bandwidth:,}"
        shown = (each.cycles, each.memory, each.distance, each.sixth, each.rows_alone, each.reached_memory)
        report.rows.append(
            [
                what, str(reached), f"{front.beside} rows", *(f"{value:.2f}" for value in shown),
                f"{each.reached:.2f}", f"{front.published:.2f}",
            ]
        )  # fmt: skip
        report.figures[what] = asdict(each) | {"experts": reached}
    _narrow_goals(report, found)
    least = min(each.distance for each in found.values())
    report.goal("distance from the front, the least: the direction holds", least, 1, "x", at_least=True)
    return report


def _narrow_goals(report: BenchReport, found: Mapping[tuple[Front, Setting], Relations]) -> None:
    """Hold the means over traces of the narrow tiles of weights against what is published."""
    for front in FRONTS:
        if front.sizes.columns != NARROW:
            continue
        each = [found[front, setting] for setting in front.settings if setting.skew == front.settings[0].skew]
        told = {"distance": (geometric_mean(one.reached for one in each), front.published)}
        if front.beside == _EIGHT:
            tiles = f"tiles of {front.beside} over dynamic ones"
            told[f"cycles of {tiles}"] = geometric_mean(one.cycles for one in each), PUBLISHED_8
            told[f"memory of {tiles}"] = geometric_mean(one.reached_memory for one in each), PUBLISHED_8_MEMORY
        for what, (value, published) in told.items():
            text = f"{front.what}, memory of experts with rows alone, mean of {len(each)} traces: {what} {value:.2f}x"
            report.goal(f"{text} beside the published {published}x", abs(value / published - 1) * 100, 15, " % off")


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
