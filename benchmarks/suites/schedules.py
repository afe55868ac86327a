"""Programs over tiles for kernels of real layers: cycles by the exact engine, beside the bound and single numbers."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from time import thread_time
from typing import TYPE_CHECKING, Final

from benchmarks.harness import ROOT, BenchReport
from stepagents.lower.search import lower
from stepagents.schedules.search import ScheduleOptions, schedules
from stepagents.torchfn.checks import make_checks
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.informed import informed
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepcore.check.programs import ImplChecker
from stepcore.cycles.bounds import bound_of
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.text.span import Embedded
from stepcore.text.wording import times_text
from stepcore.timing.hardware import PRESETS

if TYPE_CHECKING:
    from stepagents.lower.search import VerifiedProgram
    from stepagents.schedules.programs import Tiled
    from stepagents.traced.graph import TracedFunction

_SOURCE: Final = ROOT / "benchmarks" / "schedules" / "kernels.py"
_CHIP: Final = PRESETS["paper"]
_STEPS: Final = 20_000_000  # of units, in one timing of a program of single numbers
_SEED: Final = 42
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
        traced = _traced(name, sizes)
        found = schedules(traced, ScheduleOptions(_CHIP))
        times.append(thread_time() - start)
        what = f"{name} {_told(sizes)}"
        if not found.programs:
            raise SystemExit(f"{what}: {found.reason}")
        program = found.programs[0]
        bound = bound_of(time_program(program.checked, _CHIP))
        assert bound is not None and bound.ratio is not None and program.cycles is not None
        ratios.append(bound.ratio)
        kept = program.metrics.on_chip.value or 0
        at, scalar, tiled = _beside(traced, program, sizes)
        gains.append(scalar / tiled)
        where = "" if at == sizes else f" at {_told(at)}"
        cells = [f"{program.cycles:,}", f"{bound.ratio:.3f}", bound.rules, f"{kept / 1e6:.1f}", f"{times[-1]:.1f}"]
        report.rows.append([what, f"{found.tried:,}", *cells, f"{times_text(gains[-1])}{where}"])
        report.figures[what] = {
            "cycles": program.cycles, "bound": bound.cycles, "on_chip_bytes": kept, "schedule": program.schedule,
            "tried": found.tried, "seconds": times[-1],
            "compared_at": at, "scalar_cycles": scalar, "tiled_cycles": tiled,
        }  # fmt: skip
    report.goal("ratio to the bound, geometric mean of these kernels", _mean(ratios), 1.5)
    report.goal("the worst", max(ratios), 3)
    report.goal("the slowest search", max(times), 60, " s")
    report.goal("fewer cycles than single numbers, geometric mean", _mean(gains), 20, "x", at_least=True)
    return report


def _mean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def _told(sizes: dict[str, int]) -> str:
    return ", ".join(f"{symbol}={size}" for symbol, size in sizes.items())


def _traced(name: str, sizes: dict[str, int]) -> TracedFunction:
    target = find_target(str(_SOURCE), _SOURCE.read_text(encoding="utf-8"), name)
    return trace(target, completed(target, partly(target, [], sizes)))


def _beside(traced: TracedFunction, program: Tiled, sizes: dict[str, int]) -> tuple[dict[str, int], int, int]:
    """Return the sizes at which both forms are timed, and the cycles of single numbers and of tiles there.

    Of several programs of single numbers the first that can be timed counts, in the order in which they are offered.
    Where no program of single numbers is timed at these sizes, the largest of them are halved until one is; the best
    schedule of those sizes is looked for then.
    """
    checks = make_checks(traced, _SEED)
    candidates = lower(informed(traced, checks), checks.data).candidates
    at = dict(sizes)
    while True:
        timed = next((cycles for each in candidates if (cycles := _scalar_cycles(each, at)) is not None), None)
        if timed is not None:
            break
        most = max(at.values())
        at = {symbol: size // 2 if size == most else size for symbol, size in at.items()}
    if at != sizes:
        program = schedules(replace(traced, bound=at), ScheduleOptions(_CHIP)).programs[0]
    assert program.cycles is not None
    return at, timed, program.cycles


def _scalar_cycles(candidate: VerifiedProgram, sizes: dict[str, int]) -> int | None:
    """Return the cycles of a program of single numbers at these sizes, None where it takes too long or stops."""
    spec = candidate.emitted.spec
    defaults = tuple((symbol, sizes.get(symbol, size)) for symbol, size in spec.defaults)
    sized = replace(candidate.task, spec=replace(spec, defaults=defaults))
    try:
        return time_program(
            ImplChecker(sized).check(Embedded.whole(candidate.emitted.impl)), _CHIP, "exact", _STEPS
        ).cycles
    except NotTimed:
        return None
