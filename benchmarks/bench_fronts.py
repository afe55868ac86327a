"""Mixtures of experts over cycles and memory: static tiles of several sizes beside dynamic ones, and shared regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Final

from benchmarks.harness import BenchReport
from benchmarks.mixtures import MixtureSizes, Trace, checked_mixture, product_share, routing_trace, traced
from stepcore.cycles.timed import Timed, time_program
from stepcore.timing.hardware import PRESETS

BUDGET: Final = 1_000_000_000  # steps: 20 times what a command may take
_SKEW: Final = 0.5


@dataclass(frozen=True, slots=True)
class Front:
    """A mixture, experts of each row, rows of static tiles that it is timed with, and the published distance."""

    name: str
    sizes: MixtureSizes
    chosen: int
    tiles: tuple[int, ...]
    published: float | None


def _mixtral(batch: int) -> MixtureSizes:
    return MixtureSizes(batch=batch, experts=8, hidden=4096, inner=14336, columns=64)


def _qwen(batch: int) -> MixtureSizes:
    return MixtureSizes(batch=batch, experts=128, hidden=2048, inner=768, columns=64)


FRONTS: Final = (
    Front("Mixtral-like", _mixtral(64), 2, (8, 16, 32, 64), 1.33),
    Front("Qwen-like", _qwen(64), 8, (4, 8, 16, 32), 2.11),
    Front("Mixtral-like", _mixtral(1024), 2, (16, 64, 128, 256, 512), None),
)
SHARED: Final = (1, 2, 4, 8, 16)  # experts of a region


def run() -> list[BenchReport]:
    """Measure on one thread; all times are of the processor."""
    return [_fronts(), _regions()]


def distance(point: tuple[float, float], front: Sequence[tuple[float, float]]) -> float:
    """Return the factor by which the nearest of ``front`` would have to get better in cycles and in memory alike to
    reach ``point``: over 1 where the point lies beyond the front, under 1 where one of it is better in both.
    """
    return min(max(cycles / point[0], memory / point[1]) for cycles, memory in front)


def _fronts() -> BenchReport:
    title = (
        "Static tiles beside dynamic ones: 8 experts of 14,336 columns (2 for each row), 128 of 768 (8 for each row)"
    )
    columns = ("mixture, rows", "tiles", "cycles", "off chip, GB", "on chip, MB", "static over dynamic", "s")
    report = BenchReport("generation2-fronts", title, columns)
    least = []
    for front in FRONTS:
        what, trace = f"{front.name}, {front.sizes.batch:,}", _trace(front.sizes, front.chosen)
        points: dict[int, tuple[float, float]] = {}
        for tile in (0, *front.tiles):
            timed, cycles, seconds = _timed(front.sizes, tile, 1, trace)
            points[tile] = (cycles, timed.on_chip or 0)
            report.rows.append(
                [
                    what, f"{tile} rows" if tile else "dynamic", f"{cycles:,}", f"{timed.off_chip_bytes / 1e9:.2f}",
                    f"{points[tile][1] / 1e6:.1f}", f"{cycles / points[0][0]:.2f}", f"{seconds:.2f}",
                ]
            )  # fmt: skip
            report.figures[f"{what}, {tile}"] = {"cycles": cycles, "on chip": points[tile][1], "seconds": seconds}
        dynamic = points.pop(0)
        far = distance(dynamic, list(points.values()))
        least.append(far)
        report.figures[f"{what}: distance"] = far
        if front.published is None:
            report.goal(f"{what}: distance from the front of static tiles", far, 1, "x", at_least=True)
        else:
            off = abs(far / front.published - 1) * 100
            report.goal(f"{what}: distance {far:.2f}x beside the published {front.published}x", off, 15, " % off")
    report.goal("distance from the front, the least: the direction holds", min(least), 1, "x", at_least=True)
    return report


def _regions() -> BenchReport:
    title = "Regions that several experts share, in turn: 128 experts of 768 columns, 64 rows, static tiles of 16"
    columns = ("experts of a region", "cycles", "on chip, MB", "products computed, %", "cycles over alone", "s")
    report = BenchReport("generation2-shared", title, columns)
    front = FRONTS[1]
    trace, tile = _trace(front.sizes, front.chosen), 16
    alone: tuple[int, int, float] | None = None
    for shared in SHARED:
        timed, cycles, seconds = _timed(front.sizes, tile, shared, trace)
        found = (cycles, timed.on_chip or 0, product_share(timed))
        alone = alone or found
        longer = cycles / alone[0]
        report.rows.append(
            [
                str(shared), f"{cycles:,}", f"{found[1] / 1e6:.1f}", f"{found[2] * 100:.2f}", f"{longer:.3f}",
                f"{seconds:.2f}",
            ]
        )  # fmt: skip
        report.figures[f"{shared} experts"] = {
            "cycles": cycles, "on chip": found[1], "products": found[2], "seconds": seconds,
        }  # fmt: skip
        if shared == 4:
            report.goal(
                "4 experts of a region: utilization of products over that alone",
                found[2] / alone[2],
                2.64,
                "x",
                at_least=True,
            )
            report.goal("4 experts of a region: further cycles (published: under 1 %)", (longer - 1) * 100, 1, " %")
            report.goal(
                "4 experts of a region: memory freed (published: 46 %)",
                (1 - found[1] / alone[1]) * 100,
                46,
                " %",
                at_least=True,
            )
    return report


def _trace(sizes: MixtureSizes, chosen: int) -> Trace:
    return routing_trace(sizes.batch, sizes.experts, chosen, skew=_SKEW, seed=0)


def _timed(sizes: MixtureSizes, tile: int, shared: int, trace: Trace) -> tuple[Timed, int, float]:
    """Return the timing of a program from its text, its cycles, and the seconds that this took."""
    start = thread_time()
    checked = checked_mixture(sizes, tile, shared)
    timed = time_program(checked, PRESETS["paper"], routes=traced(checked, trace, tile), budget=BUDGET)
    if timed.cycles is None:
        raise SystemExit(f"tiles of {tile}, {shared} experts of a region: it stopped")
    return timed, timed.cycles, thread_time() - start
