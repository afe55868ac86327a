"""Free lanes beside lanes in turn and in blocks, over many traces: how often, and by how much, which is faster.

What a lane does is to read tiles, one after the other, so cycles stand to each other as the tiles of the busiest lanes
(:func:`benchmarks.decoding.dealt_tiles`); for some of the traces both are counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from statistics import fmean, geometric_mean, stdev
from time import thread_time
from typing import Final

from benchmarks.decoding import POLICIES, Policy, dealt_tiles, decoded_cycles, lengths_trace
from benchmarks.harness import BenchReport

_REQUESTS: Final = (16, 32, 64, 128)
_SPREADS: Final = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_TRACES: Final = 1_000
_MEAN: Final = 16  # tiles of a request
_EXACT: Final = 100  # traces that are timed exactly, of shorter requests
_SHORT: Final = 4
_NARROW: Final = 32  # columns
_WIDE: Final = 128
_TIMED_SPREADS: Final = (0.25, 1.0)  # of the logarithms of lengths
_SEEDS: Final = {16: 4, 64: 2}  # traces of each spread, by requests
_DEALT: Final = ("interleaved over free", "their tiles alone", "longest first")


def run_timed() -> list[BenchReport]:
    """Time some traces on one thread; all times are of the processor."""
    title = "Attention of a decoder in 4 lanes: 8 heads of 128 columns, caches of 16 tiles of 64 rows in the mean"
    columns = ("requests, spread", "coarse", "interleaved", "free", "coarse over free", *_DEALT, "s")
    report = BenchReport("generation2-decode", title, columns)
    traces = [
        (batch, spread, seed) for batch, seeds in _SEEDS.items() for spread in _TIMED_SPREADS for seed in range(seeds)
    ]
    dealt: dict[str, list[float]] = {name: [] for name in _DEALT}
    for batch, spread, seed in traces:
        start = thread_time()
        lengths = lengths_trace(batch, mean=_MEAN, spread=spread, seed=seed)
        cycles = {policy: decoded_cycles(policy, lengths, _WIDE) for policy in POLICIES}
        longest = sorted(lengths, reverse=True)
        ordered = _cycles(longest, _WIDE)
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
    return [report]


def run_dealt() -> list[BenchReport]:
    """Deal out the requests of many traces, and time those of short ones."""
    title = f"Lanes over {_TRACES:,} traces of each kind: tiles of the busiest lane"
    columns = ("requests, spread", "interleaved over free", "its worst trace", "traces slower, %", "coarse over free")
    report = BenchReport("generation2-lanes", title, columns)
    surest = []
    for batch in _REQUESTS:
        for spread in _SPREADS:
            traces = [lengths_trace(batch, mean=_MEAN, spread=spread, seed=seed) for seed in range(_TRACES)]
            turns, blocks = ([_ratio(policy, trace) for trace in traces] for policy in ("interleaved", "coarse"))
            surest.append(_row(report, f"{batch}, {spread}", turns, geometric_mean(blocks)))
    for spread in _TIMED_SPREADS:
        traces = [lengths_trace(16, mean=_SHORT, spread=spread, seed=seed) for seed in range(_EXACT)]
        cycles = [_cycles(trace, _NARROW) for trace in traces]
        tiles = [_ratio("interleaved", trace) for trace in traces]
        _row(report, f"16, {spread}: cycles of {_EXACT}, {_SHORT} tiles in the mean", cycles)
        _row(report, f"16, {spread}: tiles of these", tiles)
        surest.append(_least_mean(cycles))
    text = "interleaved over free in the mean, the least of all kinds, less two standard errors: the direction holds"
    report.goal(text, min(surest), 1, "x", at_least=True)
    return [report]


def _row(report: BenchReport, what: str, ratios: Sequence[float], coarse: float | None = None) -> float:
    """Add a row; return the least that the mean may be."""
    slower = sum(ratio < 1 for ratio in ratios) / len(ratios) * 100
    mean, worst = geometric_mean(ratios), min(ratios)
    report.rows.append(
        [what, f"{mean:.2f}", f"{worst:.2f}", f"{slower:.1f}", "" if coarse is None else f"{coarse:.2f}"]
    )
    report.figures[what] = {"mean": mean, "worst": worst, "slower": slower, "coarse": coarse, "traces": len(ratios)}
    return _least_mean(ratios)


def _least_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean less two standard errors."""
    logarithms = [log(ratio) for ratio in ratios]
    return exp(fmean(logarithms) - 2 * stdev(logarithms) / len(ratios) ** 0.5)


def _ratio(policy: Policy, lengths: Sequence[int]) -> float:
    return dealt_tiles(policy, lengths) / dealt_tiles("free", lengths)


def _cycles(lengths: Sequence[int], columns: int) -> float:
    return decoded_cycles("interleaved", lengths, columns) / decoded_cycles("free", lengths, columns)
