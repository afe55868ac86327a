"""Programs over tiles for kernels of real layers: cycles by the exact engine, beside the bound and single numbers."""

from __future__ import annotations

from time import thread_time
from typing import Final

from benchmarks.beside_scalar import CHIP, bound_for, compared, geometric_mean, sizes_text, traced_at
from benchmarks.harness import ROOT, BenchReport
from stepagents.schedules.search import ScheduleOptions, schedules
from stepcore.text.wording import times_text

_SOURCE: Final = ROOT / "benchmarks" / "schedules" / "kernels.py"
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
    ("convolution", {"N": 1, "C": 64, "D": 64, "H": 56, "W": 56}),
)


def run() -> BenchReport:
    """Find the best schedule of each kernel, on one thread; times are of the processor, tracing included."""
    columns = ("kernel", "schedules", "cycles", "of the bound", "rules", "on chip, MB", "s", "beside single numbers")
    report = BenchReport("schedules", "The best schedules of kernels, on the chip `paper` with 16 MB", columns)
    ratios: list[float] = []
    times: list[float] = []
    gains: list[float] = []
    for name, sizes in _KERNELS:
        start = thread_time()
        traced = traced_at(_SOURCE, name, sizes)
        found = schedules(traced, ScheduleOptions(CHIP))
        times.append(thread_time() - start)
        what = f"{name} {sizes_text(sizes)}"
        if not found.programs:
            raise SystemExit(f"{what}: {found.reason}")
        program = found.programs[0]
        bound = bound_for(program)
        assert bound.ratio is not None
        ratios.append(bound.ratio)
        kept = program.metrics.on_chip.value or 0
        beside = compared(traced, program, sizes)
        gains.append(beside.gain)
        where = "" if beside.sizes == sizes else f" at {sizes_text(beside.sizes)}"
        cells = [f"{program.cycles:,}", f"{bound.ratio:.3f}", bound.rules, f"{kept / 1e6:.1f}", f"{times[-1]:.1f}"]
        report.rows.append([what, f"{found.tried:,}", *cells, f"{times_text(gains[-1])}{where}"])
        report.figures[what] = {
            "cycles": program.cycles, "bound": bound.cycles, "on_chip_bytes": kept, "schedule": program.schedule,
            "tried": found.tried, "seconds": times[-1], **beside.figures(),
        }  # fmt: skip
    report.goal("ratio to the bound, geometric mean of these kernels", geometric_mean(ratios), 1.5)
    report.goal("the worst", max(ratios), 3)
    report.goal("the slowest search", max(times), 60, " s")
    report.goal("fewer cycles than single numbers, geometric mean", geometric_mean(gains), 20, "x", at_least=True)
    return report
