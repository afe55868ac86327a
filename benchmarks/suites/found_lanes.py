"""Lanes that `synth` finds for attention over filled caches from a plain function, on lengths that it was not shown.

A program is searched for on one draw of lengths and timed exactly on others: what it was found for says nothing of
them. *Static* are lanes whose requests and their order stand in the program, *dynamic* those that the data decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import geometric_mean
from time import thread_time
from typing import TYPE_CHECKING, Final

from benchmarks.harness import ROOT, BenchReport
from stepagents.schedules.ragged.attention import ragged_attention
from stepagents.schedules.ragged.points import FREE
from stepagents.schedules.ragged.search import DEALINGS, LANES, RaggedOptions, RaggedSearch
from stepagents.schedules.ragged.trace import drawn_lengths, routes_of
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepagents.schedules.ragged.attention import RaggedAttention
    from stepagents.schedules.ragged.points import LanePoint
    from stepagents.schedules.ranking import TimedPoint
    from stepagents.traced.graph import TracedFunction
    from stepcore.timing.hardware import Hardware

_SOURCE: Final = ROOT / "benchmarks" / "schedules" / "kernels.py"
_NAME: Final = "decode"
_SHOWN: Final = 0  # the seed of the lengths that the search sees
_SEEDS: Final = range(1, 11)  # of those that programs are timed on
_ROWS: Final = 8  # queries of a request
_STEPS: Final = 100_000_000  # of units, in one timing


@dataclass(frozen=True, slots=True)
class _Setting:
    """Sizes, chip, and what is fixed of the lanes: how many (none: nothing), and the bursts per cycle of a port."""

    what: str
    chip: str
    requests: int
    caches: int = 8192
    lanes: tuple[int, ...] = ()
    dispatch: int | None = None


_SETTINGS: Final = (
    _Setting("64 requests, any lanes", "paper", 64),
    _Setting("64 requests, 4 lanes", "decode", 64, lanes=(4,), dispatch=1),
    _Setting("16 requests, 4 lanes", "decode", 16, lanes=(4,), dispatch=1),
)


def run_found() -> list[BenchReport]:
    """Search each setting once, and time what was found on ten draws of lengths."""
    title = "Lanes found from a plain function: attention of a decoder, 8 queries of 128 columns, caches of 256 to 8192"
    columns = (
        "setting, seed",
        "coarse",
        "interleaved",
        "best dynamic",
        "static over dynamic",
        "interleaved over dynamic",
        "dynamic over bound",
    )
    report = BenchReport("generation2-found", title, columns)
    for setting in _SETTINGS:
        _measure(report, setting)
    return [report]


def _measure(report: BenchReport, setting: _Setting) -> None:
    traced = _traced({"B": setting.requests, "L": setting.caches, "D": 128})
    plan = ragged_attention(traced)
    assert plan is not None, "it is such attention"
    chip = PRESETS[setting.chip]
    shown = drawn_lengths(setting.requests, setting.caches, _SHOWN)
    options = RaggedOptions(chip, lengths=shown, lanes=setting.lanes or LANES, dispatch=setting.dispatch)
    start = thread_time()
    best = {dealing: group[0] for dealing, group in RaggedSearch(traced, plan, options).best().items()}
    seconds = thread_time() - start
    free = min((each for dealing, each in best.items() if dealing in FREE), key=lambda each: each.cycles)
    fixed = [best[dealing] for dealing in DEALINGS if dealing not in FREE]
    ratios: dict[str, list[float]] = {"static": [], "interleaved": [], "bound": []}
    for seed in _SEEDS:
        lengths = drawn_lengths(setting.requests, setting.caches, seed)
        cycles = [_cycles(each, plan, chip, lengths) for each in (*fixed, free)]
        turn = cycles[[each.point.dealing for each in fixed].index("interleaved")]
        found = {
            "static": min(cycles[:-1]) / cycles[-1], "interleaved": turn / cycles[-1],
            "bound": cycles[-1] / _least(lengths, setting),
        }  # fmt: skip
        for name, ratio in found.items():
            ratios[name].append(ratio)
        what = f"{setting.what}, {seed}"
        report.rows.append([what, *(f"{count:,}" for count in cycles), *(f"{ratio:.2f}" for ratio in found.values())])
        report.figures[what] = {"cycles": cycles, **found}
    means = {name: geometric_mean(values) for name, values in ratios.items()}
    report.rows.append([f"{setting.what}, mean", "", "", "", *(f"{mean:.2f}" for mean in means.values())])
    report.figures[setting.what] = {
        **means, "seconds": seconds, "programs": [each.point.text for each in (*fixed, free)],
    }  # fmt: skip
    what = f"{setting.what}, chip {setting.chip}"
    report.goal(f"{what}: best static over best dynamic, the least", min(ratios["static"]), 1, "x", at_least=True)
    if not setting.lanes:  # a lane has two ports, which do not use the memory's peak
        report.goal(f"{what}: dynamic over the bound, the mean", means["bound"], 1.5, "x")
    report.goal(f"{what}: processor time of the search", seconds, 60, "s")


def _cycles(each: TimedPoint[LanePoint], plan: RaggedAttention, chip: Hardware, lengths: Sequence[int]) -> int:
    """Return the exact cycles of a program with these lengths."""
    routes = routes_of(each.program, plan, lengths, each.point.lanes * each.point.parts)
    timed = time_program(each.program.checked, chip, budget=_STEPS, routes=routes)
    if timed.cycles is None:
        raise SystemExit(f"{each.point.text}, {lengths}: it stopped")
    return timed.cycles


def _least(lengths: Sequence[int], setting: _Setting) -> float:
    """Return the cycles in which queries, results and what is seen of the caches move at the memory's peak."""
    memory = PRESETS[setting.chip].memory
    return 4 * 128 * 2 * (sum(lengths) + _ROWS * len(lengths)) * memory.interval / (memory.channels * memory.burst)


def _traced(sizes: dict[str, int]) -> TracedFunction:
    target = find_target(str(_SOURCE), _SOURCE.read_text(encoding="utf-8"), _NAME)
    return trace(target, completed(target, partly(target, [], sizes)))
