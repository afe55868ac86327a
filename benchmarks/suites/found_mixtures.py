"""Tiles that `synth` finds for mixtures of experts from plain functions, on routes that it was not shown.

A program is searched for on one draw of routes and timed exactly on others. *Static* tiles have so many rows, whatever
is routed; in *shared* regions units work for several experts in turn, which data order. Both are searched twice: with
the chip's memory, and with as much as the dynamic program takes, which is how published gains are told.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import geometric_mean
from time import thread_time
from typing import TYPE_CHECKING, Final

from benchmarks.harness import ROOT, BenchReport
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.routed.plan import plan_of
from stepagents.schedules.routed.search import RoutedOptions, RoutedSearch, in_order
from stepagents.schedules.routed.trace import routes_of, routing_trace
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stepagents.schedules.ranking import TimedPoint
    from stepagents.schedules.routed.plan import MixturePlan, MixturePoint
    from stepagents.schedules.routed.trace import Trace
    from stepagents.traced.graph import TracedFunction

_SOURCE: Final = ROOT / "benchmarks" / "schedules" / "kernels.py"
_CHIP: Final = PRESETS["paper"]
_STATIC: Final = (4, 8, 16, 32, 64)  # rows of a tile
_SHOWN: Final = 0  # the seed of the routes that the search sees
_SEEDS: Final = range(1, 6)  # of those that programs are timed on
_STEPS: Final = 100_000_000  # of units, in one timing
_WAYS: Final = ("static", "static in shared regions")
_PUBLISHED: Final = {"top2": 1.65, "top8": 1.69}  # static over dynamic, at about the memory of the dynamic program


@dataclass(frozen=True, slots=True)
class _Setting:
    name: str
    chosen: int
    sizes: Mapping[str, int]
    skew: float
    capacity: int

    @property
    def what(self) -> str:
        return f"{self.name}, {', '.join(f'{name}={size}' for name, size in self.sizes.items())}, skew {self.skew:g}"


_SMALL: Final = (
    _Setting("top2", 2, {"T": 64, "E": 8, "D": 256, "F": 512}, 0.0, 16 << 20),
    _Setting("top2", 2, {"T": 64, "E": 8, "D": 256, "F": 512}, 1.0, 16 << 20),
    _Setting("top2", 2, {"T": 256, "E": 8, "D": 256, "F": 512}, 1.0, 16 << 20),
    _Setting("top8", 8, {"T": 64, "E": 128, "D": 64, "F": 48}, 1.5, 16 << 20),
    _Setting("top8", 8, {"T": 64, "E": 128, "D": 256, "F": 96}, 1.5, 16 << 20),  # Qwen3-30B-A3B, an eighth as wide
)
_LAYER: Final = tuple(
    _Setting("top2", 2, {"T": 64, "E": 8, "D": 1024, "F": 3584}, skew, 16 << 20) for skew in (0.0, 1.0)
)


def run_small() -> list[BenchReport]:
    """Measure mixtures whose experts are small."""
    return [_measured("generation2-found-mixtures", _SMALL)]


def run_layer() -> list[BenchReport]:
    """Measure a mixture of the size of a real layer."""
    return [_measured("generation2-found-layer", _LAYER)]


def _measured(kind: str, settings: tuple[_Setting, ...]) -> BenchReport:
    """Search each setting once with each memory, and time what was found on five draws of routes."""
    title = "Tiles found from plain functions: mixtures of SwiGLU experts in fp32, on the chip `paper` with 16 MB"
    columns = (
        "setting",
        "seed",
        "dynamic",
        "static",
        "static, dynamic's memory",
        "shared, dynamic's memory",
        "static over dynamic",
        "shared over dynamic",
        "memory of static over dynamic",
    )
    report = BenchReport(kind, title, columns)
    for setting in settings:
        _measure(report, setting)
    return report


def _measure(report: BenchReport, setting: _Setting) -> None:
    traced = _traced(setting)
    plan = plan_of(traced, {**traced.dims, **traced.bound})
    assert plan is not None, "it is such a mixture"
    start = thread_time()
    dynamic = _found(traced, plan, setting, (0,), setting.capacity)["dynamic"]
    most = dynamic.on_chip or 0
    free = _found(traced, plan, setting, _STATIC, setting.capacity)
    close = _found(traced, plan, setting, _STATIC, most)
    seconds = thread_time() - start
    chosen = {"dynamic": dynamic, "free": free.get("static"), **{way: close.get(way) for way in _WAYS}}
    relations: dict[str, list[float]] = {}
    for seed in _SEEDS:
        routes = _drawn(setting, seed)
        timed = {name: _timed(each, plan, routes) for name, each in chosen.items() if each is not None}
        cycles = {name: count for name, (count, _) in timed.items()}
        found = {name: count / cycles["dynamic"] for name, count in cycles.items() if name != "dynamic"}
        if "free" in timed:
            found["memory"] = timed["free"][1] / timed["dynamic"][1]
        for name, relation in found.items():
            relations.setdefault(name, []).append(relation)
        shown = [f"{cycles[name]:,}" if name in cycles else "-" for name in chosen]
        ratios = [f"{found[name]:.2f}" if name in found else "-" for name in (*_WAYS, "memory")]
        report.rows.append([setting.what, str(seed), *shown, *ratios])
        report.figures[f"{setting.what}, {seed}"] = {"cycles": cycles, **found}
    means = {name: geometric_mean(values) for name, values in relations.items()}
    ratios = [f"{means[name]:.2f}" if name in means else "-" for name in (*_WAYS, "memory")]
    report.rows.append([setting.what, "mean", "", "", "", "", *ratios])
    programs = {name: (each.point.text, each.on_chip) for name, each in chosen.items() if each is not None}
    report.figures[setting.what] = {**means, "least": {name: min(each) for name, each in relations.items()},
                                    "seconds": seconds, "programs": programs}  # fmt: skip
    known = _PUBLISHED[setting.name]
    what = f"{setting.what}: static over dynamic tiles at dynamic's memory, the mean (published {known})"
    report.goal(what, means["static"], known, "x", at_least=True)
    what = f"{setting.what}: the best static program over dynamic tiles, any memory"
    report.goal(what, min(relations["free"]), 1, "x", at_least=True)
    report.goal(f"{setting.what}: processor time of the three searches", seconds, 180, " s")


def _found(
    traced: TracedFunction, plan: MixturePlan, setting: _Setting, rows: tuple[int, ...], capacity: int
) -> dict[str, TimedPoint[MixturePoint]]:
    """Return the best point of each way to form tiles of so many rows; none where nothing fits."""
    options = RoutedOptions(_CHIP, capacity, _drawn(setting, _SHOWN), rows)
    try:
        return {way: in_order(group)[0] for way, group in RoutedSearch(traced, plan, options).best().items()}
    except NoSchedule:
        return {}


def _drawn(setting: _Setting, seed: int) -> Trace:
    return routing_trace(setting.sizes["T"], setting.sizes["E"], setting.chosen, skew=setting.skew, seed=seed)


def _timed(each: TimedPoint[MixturePoint], plan: MixturePlan, drawn: Trace) -> tuple[int, int]:
    """Return the exact cycles, and bytes on chip, of a program with these routes."""
    checked = each.program.checked
    routes = routes_of(checked.typed, drawn, plan.count, each.point.rows)
    timed = time_program(checked, _CHIP, budget=_STEPS, routes=routes)
    if timed.cycles is None:
        raise SystemExit(f"{each.point.text}: it stopped")
    return timed.cycles, timed.on_chip or 0


def _traced(setting: _Setting) -> TracedFunction:
    target = find_target(str(_SOURCE), _SOURCE.read_text(encoding="utf-8"), setting.name)
    return trace(target, completed(target, partly(target, [], dict(setting.sizes))))
