"""Published programs of generation 2, timed exactly: mixtures of experts with static and dynamic tiles, decoders."""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import thread_time
from typing import Final

from benchmarks.harness import BenchReport
from benchmarks.mixtures import MIXTRAL_CHOSEN, MixtureSizes, checked_mixture, mixtral
from benchmarks.suites import found_lanes, found_mixtures, fronts, lanes, values
from stepagents.schedules.routed.trace import Trace, routes_of, routing_trace
from stepcore.cycles.timed import Timed, time_program
from stepcore.timing.hardware import PRESETS

_SIZES: Final = mixtral(64)
_LARGE: Final = mixtral(1024)
_TILE: Final = 16
_TRACES: Final = tuple((skew, seed) for skew in (0.0, 0.5) for seed in range(3))
PUBLISHED: Final = 1.65  # cycles of static tiles of 16 over those of dynamic ones, on traces of a real run


def run(parts: Sequence[str] = ()) -> list[BenchReport]:
    """Measure ``parts`` of :data:`PARTS` (none: all) on one thread; all times are of the processor."""
    return [report for part in parts or PARTS for report in PARTS[part]()]


def _mixtures() -> BenchReport:
    title = (
        "A mixture of experts with static and with dynamic tiles (8 experts, 2 for each row, 4,096 and 14,336 columns)"
    )
    columns = ("rows, skew, seed", "rows of experts", "tiles", "cycles", "off chip, GB", "on chip, MB", "s")
    report = BenchReport("generation2-mixtures", title, columns)
    times: dict[int, list[float]] = {_TILE: [], 0: []}
    relations = []
    for skew, seed in _TRACES:
        trace = routing_trace(_SIZES.batch, _SIZES.experts, MIXTRAL_CHOSEN, skew=skew, seed=seed)
        cycles = {}
        for tile, taken in times.items():
            timed, seconds = _timed(_SIZES, tile, trace)
            taken.append(seconds)
            cycles[tile] = _row(report, f"{_SIZES.batch}, {skew}, {seed}", trace, tile, timed, seconds)
        relations.append(cycles[_TILE] / cycles[0])
    trace = routing_trace(_LARGE.batch, _LARGE.experts, MIXTRAL_CHOSEN, skew=0.5, seed=0)
    timed, large = _timed(_LARGE, 0, trace)
    _row(report, f"{_LARGE.batch}, 0.5, 0", trace, 0, timed, large)
    timed, static = _timed(_LARGE, _TILE, trace)
    _row(report, f"{_LARGE.batch}, 0.5, 0", trace, _TILE, timed, static)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report.figures |= {"relations": relations, "memory, MB": memory, "published relation": PUBLISHED}
    shown = ", ".join(f"{relation:.2f}" for relation in relations)
    report.rows.append([f"static over dynamic: {shown}", "", "", f"{median(relations):.2f} (median)", "", "", ""])
    report.goal(
        "static tiles of 16, batch 64: the slowest (the published simulator: 2,719 s)", max(times[_TILE]), 60, " s"
    )
    report.goal("dynamic tiles, batch 1,024", large, 300, " s")
    report.goal("static tiles of 16, batch 1,024", static, 300, " s")
    report.goal("memory of the process", memory, 4096, " MB")
    report.goal("static over dynamic, the least: the direction holds", min(relations), 1, "x", at_least=True)
    off = abs(median(relations) / PUBLISHED - 1) * 100
    report.goal(f"the median of it beside the published {PUBLISHED}x (traces of a real run)", off, 15, " % off")
    return report


def _timed(sizes: MixtureSizes, tile: int, trace: Trace) -> tuple[Timed, float]:
    """Return the timing of a program from its text, and the seconds that this took."""
    start = thread_time()
    checked = checked_mixture(sizes, tile)
    routes = routes_of(checked.typed, trace, sizes.experts, tile)
    timed = time_program(checked, PRESETS["paper"], routes=routes, budget=fronts.BUDGET)
    return timed, thread_time() - start


def _row(report: BenchReport, what: str, trace: Trace, tile: int, timed: Timed, seconds: float) -> int:
    """Add a row; return the cycles. Raises ``SystemExit`` where the program stopped."""
    if timed.cycles is None:
        raise SystemExit(f"{what}, tiles of {tile}: it stopped")
    counts = [sum(expert in row for row in trace) for expert in range(_SIZES.experts)]
    tiles, on_chip = f"{tile} rows" if tile else "dynamic", timed.on_chip or 0
    report.rows.append(
        [
            what, " ".join(map(str, counts)), tiles, f"{timed.cycles:,}", f"{timed.off_chip_bytes / 1e9:.2f}",
            f"{on_chip / 1e6:.1f}", f"{seconds:.2f}",
        ]
    )  # fmt: skip
    report.figures[f"{what}, {tiles}"] = {
        "cycles": timed.cycles, "off chip": timed.off_chip_bytes, "on chip": on_chip, "fifos": timed.kept.fifos,
        "seconds": seconds,
    }  # fmt: skip
    return timed.cycles


PARTS: Final[Mapping[str, Callable[[], list[BenchReport]]]] = {
    "mixtures": lambda: [_mixtures()],
    "fronts": fronts.run_fronts,
    "shared": lambda: [fronts.run_regions()],
    "decode": lanes.run_timed,
    "lanes": lanes.run_dealt,
    "found-lanes": found_lanes.run_found,
    "found-mixtures": found_mixtures.run_small,
    "found-layer": found_mixtures.run_layer,
    "values": lambda: [values.run()],
}
