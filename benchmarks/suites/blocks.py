"""Functions of our own set that no loop nest of tiles fits: cycles beside the bound and beside single numbers.

Sizes are those that ``synth`` takes where nobody gives any.
"""

from __future__ import annotations

from time import thread_time
from typing import Final

from benchmarks.beside_scalar import CHIP, bound_for, compared, geometric_mean, sizes_text, traced_at
from benchmarks.harness import ROOT, BenchReport
from stepagents.schedules.search import ScheduleOptions, schedules
from stepcore.text.wording import times_text

_FOLDER: Final = ROOT / "benchmarks" / "functions"
_LARGE: Final = 100  # cycles
_FUNCTIONS: Final[tuple[tuple[str, str, dict[str, int]], ...]] = (  # file, function, sizes
    ("attention", "grouped_query_attention", {"b": 64, "s": 64, "t": 64, "d": 64}),
    ("broadcasting", "swap_heads", {"b": 128, "s": 128, "d": 128}),
    ("gating", "soft_mixture", {"m": 128, "k": 128, "e": 128, "n": 128}),
    ("gating", "top_two_gate", {"m": 256, "e": 256}),
    ("lookups", "embedding", {"n": 256, "v": 256, "d": 256}),
    ("lookups", "embedding_sum", {"n": 256, "l": 256, "v": 256, "d": 256}),
    ("lookups", "select_rows", {"m": 256, "k": 256, "n": 256}),
    ("norms", "group_norm", {"n": 64, "h": 64, "w": 64}),
    ("norms", "TrainedBatchNorm", {"n": 64, "h": 64, "w": 64}),
    ("reductions", "best_column", {"m": 256, "k": 256}),
    ("windows", "conv1d", {"n": 128, "c": 128, "l": 128, "d": 128}),
    ("windows", "transposed_conv1d", {"n": 64, "c": 64, "l": 64, "d": 64}),
    ("windows", "max_pool2d", {"n": 32, "c": 32, "h": 32, "w": 32}),
    ("windows", "average_pool1d", {"n": 128, "c": 128, "l": 128}),
    ("windows", "ConvReluPool", {}),
)


def run() -> BenchReport:
    """Find the best schedule of each function, on one thread; times are of the processor, tracing included."""
    columns = ("function", "schedule", "cycles", "of the bound", "rules", "on chip, MB", "s", "beside single numbers")
    report = BenchReport("blocks", "Functions over blocks, on the chip `paper` with 16 MB", columns)
    ratios: list[float] = []
    large: list[float] = []  # where the latency of memory is a small part
    gains: list[float] = []
    for file, name, sizes in _FUNCTIONS:
        start = thread_time()
        traced = traced_at(_FOLDER / f"{file}.py", name, sizes)
        found = schedules(traced, ScheduleOptions(CHIP))
        seconds = thread_time() - start
        if not found.programs:
            raise SystemExit(f"{name}: {found.reason}")
        program = found.programs[0]
        own = dict(program.spec.defaults)
        bound = bound_for(program)
        assert bound.ratio is not None
        ratios.append(bound.ratio)
        large += [bound.ratio] if bound.cycles >= _LARGE else []
        beside = compared(traced, program, own)
        gains.append(beside.gain)
        kept = program.metrics.on_chip.value
        where = "" if beside.sizes == own else f" at {sizes_text(beside.sizes)}"
        report.rows.append(
            [
                f"{name} {sizes_text(own)}",
                program.schedule,
                f"{program.cycles:,}",
                f"{bound.ratio:.2f}",
                bound.rules,
                "-" if kept is None else f"{kept / 1e6:.1f}",
                f"{seconds:.1f}",
                f"{times_text(gains[-1])}{where}",
            ]
        )
        report.figures[name] = {
            "sizes": own, "cycles": program.cycles, "bound": bound.cycles, "on_chip_bytes": kept,
            "schedule": program.schedule, "tried": found.tried, "seconds": seconds, **beside.figures(),
        }  # fmt: skip
    report.goal("ratio to the bound, geometric mean of these functions", geometric_mean(ratios), 1.5)
    report.goal(f"the worst, of bounds of at least {_LARGE} cycles", max(large), 3)
    report.goal("the least gain over single numbers", min(gains), 1, "x", at_least=True)
    return report
