"""Published programs of generation 2, timed exactly: mixtures of experts with static and dynamic tiles, decoders."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from statistics import geometric_mean, median
from time import thread_time
from typing import Final

from benchmarks import bench_fronts
from benchmarks.decoding import POLICIES, Policy, checked_decode, dealt_tiles, lengths_trace, traced_decode
from benchmarks.harness import BenchReport
from benchmarks.mixtures import MixtureSizes, Trace, checked_mixture, routing_trace, traced
from stepcore.cycles.timed import Timed, time_program
from stepcore.timing.hardware import PRESETS

_SIZES: Final = MixtureSizes(batch=64, experts=8, hidden=4096, inner=14336, columns=64)
_LARGE: Final = MixtureSizes(batch=1024, experts=8, hidden=4096, inner=14336, columns=64)
_CHOSEN: Final = 2
_TILE: Final = 16
_TRACES: Final = tuple((skew, seed) for skew in (0.0, 0.5) for seed in range(3))
_SPREADS: Final = (0.25, 1.0)  # of the logarithms of lengths
_SEEDS: Final = {16: 4, 64: 2}  # traces of each spread, by requests
_DEALT: Final = ("interleaved over free", "their tiles alone", "longest first")
PUBLISHED: Final = 1.65  # cycles of static tiles of 16 over those of dynamic ones, on traces of a real run


def run() -> list[BenchReport]:
    """Measure on one thread; all times are of the processor."""
    return [_mixtures(), *bench_fronts.run(), _decode()]


def _decode() -> BenchReport:
    title = "Attention of a decoder in 4 lanes: 8 heads of 128 columns, caches of 16 tiles of 64 rows in the mean"
    columns = ("requests, spread", "coarse", "interleaved", "free", "coarse over free", *_DEALT, "s")
    report = BenchReport("generation2-decode", title, columns)
    traces = [(batch, spread, seed) for batch, seeds in _SEEDS.items() for spread in _SPREADS for seed in range(seeds)]
    dealt: dict[str, list[float]] = {name: [] for name in _DEALT}
    for batch, spread, seed in traces:
        start = thread_time()
        lengths = lengths_trace(batch, mean=16, spread=spread, seed=seed)
        cycles = {policy: _decoded(policy, lengths) for policy in POLICIES}
        longest = sorted(lengths, reverse=True)
        ordered = _decoded("interleaved", longest) / _decoded("free", longest)
        tiles = dealt_tiles("interleaved", lengths) / dealt_tiles("free", lengths)
        ratios = dict(zip(_DEALT, (cycles["interleaved"] / cycles["free"], tiles, ordered), strict=True))
        for name, ratio in ratios.items():
            dealt[name].append(ratio)
        seconds, what = thread_time() - start, f"{batch}, {spread}, seed {seed}"
        shown = [f"{cycles[policy]:,}" for policy in POLICIES]
        coarse = f"{cycles['coarse'] / cycles['free']:.2f}"
        report.rows.append([what, *shown, coarse, *(f"{ratio:.2f}" for ratio in ratios.values()), f"{seconds:.2f}"])
        report.figures[what] = {**cycles, **ratios, "seconds": seconds}
    arrived, tiles_only, ordered_first = dealt.values()
    for batch, spread in dict.fromkeys(trace[:2] for trace in traces):
        of_kind = [ratio for ratio, trace in zip(arrived, traces, strict=True) if trace[:2] == (batch, spread)]
        report.figures[f"{batch}, {spread}: mean"] = geometric_mean(of_kind)
    report.goal("interleaved over free as requests come, the least", min(arrived), 1, "x", at_least=True)
    report.goal("the geometric mean of all traces", geometric_mean(arrived), 1, "x", at_least=True)
    off = max(abs(found / alone - 1) for found, alone in zip(arrived, tiles_only, strict=True)) * 100
    report.goal("cycles beside what dealing out the tiles alone gives", off, 5, " % off")
    report.goal("interleaved over free, longest requests first, the least", min(ordered_first), 1, "x", at_least=True)
    return report


def _decoded(policy: Policy, lengths: Sequence[int]) -> int:
    checked = checked_decode(policy, len(lengths), 128, max(lengths))
    timed = time_program(checked, PRESETS["decode"], routes=traced_decode(checked, lengths))
    if timed.cycles is None:
        raise SystemExit(f"{policy}, {lengths}: it stopped")
    return timed.cycles


def _mixtures() -> BenchReport:
    title = (
        "A mixture of experts with static and with dynamic tiles (8 experts, 2 for each row, 4,096 and 14,336 columns)"
    )
    columns = ("rows, skew, seed", "rows of experts", "tiles", "cycles", "off chip, GB", "on chip, MB", "s")
    report = BenchReport("generation2-mixtures", title, columns)
    times: dict[int, list[float]] = {_TILE: [], 0: []}
    relations = []
    for skew, seed in _TRACES:
        trace = routing_trace(_SIZES.batch, _SIZES.experts, _CHOSEN, skew=skew, seed=seed)
        cycles = {}
        for tile, taken in times.items():
            timed, seconds = _timed(_SIZES, tile, trace)
            taken.append(seconds)
            cycles[tile] = _row(report, f"{_SIZES.batch}, {skew}, {seed}", trace, tile, timed, seconds)
        relations.append(cycles[_TILE] / cycles[0])
    trace = routing_trace(_LARGE.batch, _LARGE.experts, _CHOSEN, skew=0.5, seed=0)
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
    timed = time_program(checked, PRESETS["paper"], routes=traced(checked, trace, tile), budget=bench_fronts.BUDGET)
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
