"""Programs over tiles for kernels of real layers: cycles by the exact engine, beside the bound."""

from __future__ import annotations

from math import exp, log
from time import thread_time
from typing import Final

from benchmarks.harness import ROOT, BenchReport
from stepagents.schedules.search import ScheduleOptions, schedules
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepcore.cycles.bounds import bound_of
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS

_SOURCE: Final = ROOT / "benchmarks" / "schedules" / "kernels.py"
_CHIP: Final = PRESETS["paper"]
_KERNELS: Final[tuple[tuple[str, dict[str, int]], ...]] = (
    ("gemm", {"M": 1024, "K": 1024, "N": 1024}),
    ("gemm", {"M": 16, "K": 4096, "N": 4096}),
    ("bgemm", {"B": 32, "M": 256, "K": 256, "N": 256}),
    ("swiglu", {"B": 64, "D": 256, "F": 512}),
    ("swiglu", {"B": 64, "D": 2048, "F": 768}),
    ("attention", {"M": 1024, "L": 1024, "D": 128}),
    ("causal", {"M": 1024, "D": 128}),
    ("rms_linear", {"M": 256, "K": 2048, "N": 2048}),
    ("layernorm", {"M": 4096, "N": 1024}),
    ("softmax", {"M": 1024, "N": 4096}),
    ("cross_entropy", {"M": 1024, "V": 32_000}),
    ("recurrence", {"T": 1024, "D": 512}),
    ("rope", {"S": 1024, "H": 32, "D": 64}),
)


def run() -> BenchReport:
    """Find the best schedule of each kernel, on one thread; times are of the processor, tracing included."""
    columns = ("kernel", "schedules", "cycles", "of the bound", "rules", "on chip, MB", "s")
    report = BenchReport("schedules", "The best schedules of kernels, on the chip `paper` with 16 MB", columns)
    ratios: list[float] = []
    times: list[float] = []
    for name, sizes in _KERNELS:
        start = thread_time()
        target = find_target(str(_SOURCE), _SOURCE.read_text(encoding="utf-8"), name)
        found = schedules(trace(target, completed(target, partly(target, [], sizes))), ScheduleOptions(_CHIP))
        times.append(thread_time() - start)
        what = f"{name} {', '.join(f'{symbol}={size}' for symbol, size in sizes.items())}"
        if not found.programs:
            raise SystemExit(f"{what}: {found.reason}")
        program = found.programs[0]
        bound = bound_of(time_program(program.checked, _CHIP))
        assert bound is not None and bound.ratio is not None
        ratios.append(bound.ratio)
        kept = program.metrics.on_chip.value or 0
        cells = [f"{program.cycles:,}", f"{bound.ratio:.3f}", bound.rules, f"{kept / 1e6:.1f}", f"{times[-1]:.1f}"]
        report.rows.append([what, f"{found.tried:,}", *cells])
        report.figures[what] = {
            "cycles": program.cycles, "bound": bound.cycles, "on_chip_bytes": kept, "schedule": program.schedule,
            "tried": found.tried, "seconds": times[-1],
        }  # fmt: skip
    mean = exp(sum(map(log, ratios)) / len(ratios))
    report.goal("ratio to the bound, geometric mean of these kernels", mean, 1.5)
    report.goal("the worst", max(ratios), 3)
    report.goal("the slowest search", max(times), 60, " s")
    return report
