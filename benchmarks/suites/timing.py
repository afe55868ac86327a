"""Timing of programs: published points, tokens per second, what repeats, and the estimate beside the exact engine."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from time import thread_time
from typing import Any, Final

from benchmarks.harness import ROOT, TASKS, BenchReport, milliseconds
from stepcore.check.files import check_text
from stepcore.cycles.ends import load, store
from stepcore.cycles.network_of import network_of
from stepcore.cycles.timed import busy
from stepcore.timing import rows
from stepcore.timing.exact import Timing
from stepcore.timing.exact import run as time_network
from stepcore.timing.hardware import PRESETS
from stepcore.timing.microcode import enq, peek, take, times, work, work_table
from stepcore.timing.network import Network
from stepcore.timing.periods import Periods
from stepcore.timing.units import compiled
from timing_cases import PUBLISHED, SMALL
from timing_networks import Build, chip, diamond, swiglu
from timing_properties import expert_network

RANDOM: Final = 500  # programs
_RAGGED: Final = 100_000  # elements of the program that data decide
_ELEMENTS: Final = (4, 64, 1024)  # bytes
_EXPERT: Final = (64, 256, 512)  # B, D and F of the published points
_WITHIN: Final = 0.01
_TOKENS: Final = 1e6  # a second
_MANY: Final = 1_000  # tokens of a task whose speed is told
_WORST: Final = 0.08


def run() -> list[BenchReport]:
    """Measure on one thread; all times are of the processor."""
    return [_points(), _speed(), _programs()]


# -- the published points --------------------------------------------------------------------------------------------


def _points() -> BenchReport:
    columns = ("tile", "published", "exact", "ms", "from the text, ms", "estimate", "off by", "ms")
    report = BenchReport("timing-points", "The 15 published points of the validation graph (SwiGLU expert)", columns)
    exacts, fluids, off, texts = [], [], [], []
    for tile, (published, more) in PUBLISHED.items():
        network = swiglu(*tile)
        timing, about = time_network(network), time_network(network, fluid=True)
        written = time_network(expert_network(tile, _EXPERT, PRESETS["validation"]))
        if {timing.cycles, written.cycles} != {published + more}:
            raise SystemExit(f"{tile}: {timing.cycles} and {written.cycles} cycles, and not {published + more}")
        texts.append(_seconds(lambda t=tile: time_network(expert_network(t, _EXPERT, PRESETS["validation"]))))  # type: ignore[misc]
        exacts.append(_seconds(lambda n=network: time_network(n)))  # type: ignore[misc]
        fluids.append(_seconds(lambda n=network: time_network(n, fluid=True)))  # type: ignore[misc]
        off.append(about.cycles / timing.cycles - 1)
        report.rows.append(
            [
                f"{tile[0]} x {tile[1]}", f"{published:,}", f"{timing.cycles:,}", milliseconds(exacts[-1]),
                milliseconds(texts[-1]), f"{about.cycles:,}", f"{off[-1]:+.1%}", milliseconds(fluids[-1]),
            ]
        )  # fmt: skip
        report.figures[f"{tile[0]}x{tile[1]}"] = {
            "exact": exacts[-1], "text": texts[-1], "fluid": fluids[-1], "off": off[-1],
        }  # fmt: skip
    sums = [milliseconds(sum(each)) for each in (exacts, texts, fluids)]
    report.rows.append(["all", "", "", sums[0], sums[1], "", "", sums[2]])
    report.goal("all points, exactly (the published simulator: 30 s)", sum(exacts), 1, " s")
    report.goal("the same from the text of the program: checked, its network made, exactly", sum(texts), 1, " s")
    report.goal("the slowest estimate", max(fluids) * 1e3, 100, " ms")
    near = sum(abs(each) <= _WITHIN for each in off)
    report.goal("estimates within 1 %, of 15", near, 12, at_least=True)
    report.goal("the worst estimate", max(map(abs, off)) * 100, _WORST * 100, " %")
    return report


# -- speed -----------------------------------------------------------------------------------------------------------


def ragged(elements: int, seed: int = 0, element: int = 0) -> Network:
    """Return a chain of which data decide all: how long calls take, and how many elements each becomes.

    Elements of so many bytes come from memory and go there; of 0 bytes they do not.
    """
    rng, net = Random(seed), Build(chip(2))
    start, worked, repeated, done = (net.channel(name) for name in ("x", "worked", "repeated", "done"))
    counts = [rng.randint(0, 4) for _ in range(elements)]
    calls = [rng.randint(1, 6) for _ in range(elements)]
    later = [rng.randint(1, 3) for _ in range(sum(counts))]
    if element:
        load(net, 0, start, elements, (1, element))
        store(net, 1, done, len(later), (1, element))
    else:
        net.source(start, elements)
        net.sink(done, len(later))
    body = [*peek(start), *work_table(calls), *enq(worked), *take(start)]
    net.unit("Map", times(elements, body), (start,), (worked,))
    body = [*peek(worked), *times(counts, [*enq(repeated), *work(1)]), *take(worked)]
    net.unit("Repeat", times(elements, body), (worked,), (repeated,))
    body = [*peek(repeated), *work_table(later), *enq(done), *take(repeated)]
    net.unit("Map", times(len(later), body), (repeated,), (done,))
    return net


def _speed() -> BenchReport:
    report = BenchReport("timing-speed", "Tokens per second of the exact engine", ("what", "tokens", "ms", "tokens/s"))

    def row(what: str, network: Network) -> float:
        tokens = sum(channel.put for channel in time_network(network).channels)
        seconds = _seconds(lambda: time_network(network))
        report.rows.append([what, f"{tokens:,}", milliseconds(seconds), f"{tokens / seconds:,.0f}"])
        report.figures[what] = {"tokens": tokens, "seconds": seconds}
        return tokens / seconds

    threshold, few = rows.COMPILE_FROM, rows.FEW_TOKENS
    try:
        rows.COMPILE_FROM = 1 << 60  # type: ignore[misc]
        regular = row("regular: a fork that joins past a fold", diamond(6, rows=100_000))
        row("the same, ten times as long", diamond(6, rows=1_000_000))
        each_regular = [row(f"regular: {name}", network) for name, network in _regular()]
        rows.FEW_TOKENS = 1 << 60  # type: ignore[misc]
        whole = row("the same, every token run: no period is looked for", diamond(6, rows=3_000))
        each_whole = [row(f"every token run: {name}", network) for name, network in _regular()]
        rows.FEW_TOKENS = few  # type: ignore[misc]
        plain = [row("data decide all, without numba", ragged(_RAGGED))]
        for size in _ELEMENTS:
            what = f"the same, elements of {size:,} bytes from memory and to it, without numba"
            plain.append(row(what, ragged(_RAGGED, element=size)))
        rows.COMPILE_FROM = 1  # type: ignore[misc]
        quick = []
        if compiled() is not None:
            quick.append(row("data decide all, with numba", ragged(_RAGGED)))
            for size in _ELEMENTS:
                what = f"the same, elements of {size:,} bytes from memory and to it"
                quick.append(row(what, ragged(_RAGGED, element=size)))
    finally:
        rows.COMPILE_FROM, rows.FEW_TOKENS = threshold, few  # type: ignore[misc]
    _many_rows(report)
    cases = [_seconds(lambda n=network: time_network(n), 0.1) for network, _cycles in SMALL.values()]  # type: ignore[misc]
    wrong = [name for name, (network, cycles) in SMALL.items() if time_network(network).cycles != cycles]
    if wrong:
        raise SystemExit(f"other cycles than the timing chapter gives: {wrong}")
    report.rows.append([f"the {len(cases)} small cases of the timing chapter, each", "", milliseconds(max(cases)), ""])
    report.goal("regular, tokens/s", regular, 1e6, at_least=True)
    told = f"the same of tasks and graphs with memory at their ends, {len(each_regular)} in all: those that do"
    report.goal(told, sum(speed >= _TOKENS for speed in each_regular), len(each_regular), at_least=True)
    report.goal("regular, every token run without numba, tokens/s", whole, 1e6, at_least=True)
    report.goal(told, sum(speed >= _TOKENS for speed in each_whole), len(each_whole), at_least=True)
    report.goal("data-driven without numba, memory ends or not, tokens/s", min(plain), 2e5, at_least=True)
    if quick:
        report.goal("data-driven with numba, memory ends or not, tokens/s", min(quick), 5e6, at_least=True)
    return report


def _many_rows(report: BenchReport) -> None:
    """Add what the published points take with a thousand times as many rows, beside the published number."""
    each = {b: [_seconds(partial(time_network, swiglu(*tile, b=b))) for tile in PUBLISHED] for b in (64, 65_536)}
    small, large = sum(each[64]), sum(each[65_536])
    ratios = [more / less for less, more in zip(*each.values(), strict=True)]
    for b, seconds in ((64, small), (65_536, large)):
        what = f"the {len(PUBLISHED)} published points at B = {b:,}, together"
        report.rows.append([what, "", milliseconds(seconds), ""])
        report.figures[f"B={b}"] = {"seconds": seconds}
    for tile, ratio, seconds in zip(PUBLISHED, ratios, each[65_536], strict=True):
        rows_of_tiles = _settling(tile)
        times_ = f"{ratio:.1f}x of B = 64; {rows_of_tiles} rows of tiles until it recurs"
        what = f"{tile[0]} x {tile[1]} at B = 65,536: {times_}"
        report.rows.append([what, "", milliseconds(seconds), ""])
        report.figures[what.partition(":")[0]] = {"seconds": seconds, "ratio": ratio, "rows": rows_of_tiles}
    report.goal("the published points at B = 65,536 over those at B = 64", large / small, 5, "x")
    report.goal("the largest of them", max(ratios), 5, "x")


def _regular() -> Iterator[tuple[str, Network]]:
    """Yield published tasks of some size, and the graph of the points with small and with large tiles."""
    for path in sorted(TASKS.glob("*.step.yaml")):
        for name, make in _networks(path):
            network = make()
            timing = time_network(network)
            if not timing.waiting and sum(channel.put for channel in timing.channels) >= _MANY:
                yield name, network
    for tile, b in (((16, 16), 512), ((64, 256), 4_096)):
        yield f"SwiGLU, tiles of {tile[0]} x {tile[1]}, B = {b:,}", swiglu(*tile, b=b)


def _settling(tile: tuple[int, int]) -> int:
    """Return after how many rows of tiles the last period was skipped: as many are run, however many there are."""
    seen: list[int] = []
    skip = Periods._skip

    def told(self: Periods, *args: Any) -> None:
        seen.append(self.rows.put[0])
        skip(self, *args)

    Periods._skip = told  # type: ignore[method-assign, assignment]
    try:
        time_network(swiglu(*tile, b=65_536))
    finally:
        Periods._skip = skip  # type: ignore[method-assign]
    return -(-seen[-1] * tile[1] // _EXPERT[2]) if seen else 65_536 // tile[0]


# -- programs --------------------------------------------------------------------------------------------------------


def _programs() -> BenchReport:
    columns = ("program", "cycles", "exact ms", "estimate", "off by", "estimate ms")
    report = BenchReport("timing-programs", "Published tasks and examples on the default chip", columns)
    exacts, fluids, off = [], [], []
    for path in (*sorted(TASKS.glob("*.step.yaml")), *sorted((ROOT / "examples").glob("*.py"))):
        for name, make in _networks(path):
            network = make()
            timing, about = time_network(network), time_network(network, fluid=True)
            exacts.append(_seconds(lambda make=make: time_network(make()), 0.2))  # type: ignore[misc]
            fluids.append(_seconds(lambda make=make: time_network(make(), fluid=True), 0.2))  # type: ignore[misc]
            off.append(0.0 if timing.waiting else about.cycles / timing.cycles - 1)
            cycles = f"stops at {timing.cycles:,}" if timing.waiting else f"{timing.cycles:,}"
            times_ = milliseconds(exacts[-1]), milliseconds(fluids[-1])
            report.rows.append([name, cycles, times_[0], f"{about.cycles:,}", f"{off[-1]:+.1%}", times_[1]])
            report.figures[name] = {"cycles": timing.cycles, "exact": exacts[-1], "fluid": fluids[-1], "off": off[-1]}
    middle = [milliseconds(statistics.median(each)) for each in (exacts, fluids)]
    report.rows.append(["median", "", middle[0], "", "", middle[1]])
    same, errors = _drawn()
    report.figures["random"] = {"same bottleneck": same, "off": errors}
    share = statistics.median(map(abs, errors))
    report.rows.append([f"{RANDOM} random programs (median)", "", "", "", f"{share:.1%}", ""])
    report.goal("the slowest estimate of a task or example, its network made anew", max(fluids) * 1e3, 100, " ms")
    report.goal("the worst estimate of them", max(map(abs, off)) * 100, _WORST * 100, " %")
    report.goal(
        f"same bottleneck, of {len(errors)} random programs that do not stop", same * 100, 95, " %", at_least=True
    )
    return report


def _networks(path: Path) -> Iterator[tuple[str, Callable[[], Network]]]:
    for checked in check_text(path.read_text(encoding="utf-8"), str(path)).programs:
        if checked.runnable:
            spec, graph = checked.spec, checked.typed
            yield checked.name, lambda s=spec, g=graph: network_of(s, g, s.bindings(), PRESETS["default"]).network  # type: ignore[misc]


def _drawn() -> tuple[float, list[float]]:
    """Return in how many random programs both engines see the same bottleneck, and how far the estimates are off."""
    from timing_programs import drawn_program  # runs programs, so it imports torch

    same, errors = 0, []
    for seed in range(RANDOM):
        network = drawn_program(seed).network
        exact, about = time_network(network), time_network(network, fluid=True)
        if not exact.waiting:
            same += bool(_bottlenecks(exact) & _bottlenecks(about))
            errors.append(about.cycles / max(exact.cycles, 1) - 1)
    return same / max(len(errors), 1), errors


def _bottlenecks(timing: Timing) -> set[int]:
    """Return the units that are busy longest."""
    most = max(map(busy, timing.units), default=0)
    return {number for number, unit in enumerate(timing.units) if busy(unit) == most}


def _seconds(function: Callable[[], object], budget: float = 0.3) -> float:
    """Return the median processor time of a call: other load on the machine counts less than by the clock."""
    taken: list[float] = []
    function()
    start = thread_time()
    while len(taken) < 3 or (thread_time() - start < budget and len(taken) < 200):
        before = thread_time()
        function()
        taken.append(thread_time() - before)
    return statistics.median(taken)
