"""Programs over tiles beside those of single numbers for the same function: what both take by the exact engine."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from typing import TYPE_CHECKING, Final, NamedTuple

from stepagents.lower.search import lower
from stepagents.schedules.search import ScheduleOptions, schedules
from stepagents.shapes.particular import chosen
from stepagents.torchfn.checks import make_checks
from stepagents.torchfn.dims import completed
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.informed import informed
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepcore.check.programs import ImplChecker
from stepcore.cycles.bounds import bound_of
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.text.span import Embedded
from stepcore.timing.hardware import PRESETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from stepagents.lower.search import VerifiedProgram
    from stepagents.schedules.programs import Tiled
    from stepagents.traced.graph import TracedFunction
    from stepcore.cycles.bounds import CycleBound

CHIP: Final = PRESETS["paper"]
_STEPS: Final = 20_000_000  # of units, in one timing of a program of single numbers
_SEED: Final = 42


class Compared(NamedTuple):
    """The sizes at which both forms are timed, and the cycles of single numbers and of tiles there."""

    sizes: Mapping[str, int]
    scalar: int
    tiled: int

    @property
    def gain(self) -> float:
        """How many times as many cycles single numbers take."""
        return self.scalar / self.tiled

    def figures(self) -> dict[str, object]:
        """Return the numbers that a report keeps."""
        return {"compared_at": dict(self.sizes), "scalar_cycles": self.scalar, "tiled_cycles": self.tiled}


def traced_at(path: Path, name: str, sizes: Mapping[str, int]) -> TracedFunction:
    """Return a function of a file, traced, with what its random data tell of whole numbers."""
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    guard = Guard(str(path), target.line, 60.0, lambda: False)
    told = chosen(target, [], sizes, guard).told
    found = trace(target, completed(target, told), guard)
    found = informed(found, make_checks(found, _SEED))
    return replace(found, bound={**found.bound, **sizes})


def bound_for(program: Tiled) -> CycleBound:
    """Return the bound of a program over tiles, which ends."""
    bound = bound_of(time_program(program.checked, CHIP))
    assert bound is not None and bound.ratio is not None
    return bound


def compared(traced: TracedFunction, program: Tiled, sizes: Mapping[str, int]) -> Compared:
    """Return what both forms take. Of several programs of single numbers the first that can be timed counts.

    They come in the order in which they are offered. Where none is timed at these sizes, the largest of them are halved
    until one is; the best schedule of those sizes is looked for then.
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
        program = schedules(replace(traced, bound=at), ScheduleOptions(CHIP)).programs[0]
    assert program.cycles is not None
    return Compared(at, timed, program.cycles)


def _scalar_cycles(candidate: VerifiedProgram, sizes: Mapping[str, int]) -> int | None:
    """Return the cycles of a program of single numbers at these sizes, None where it takes too long or stops."""
    spec = candidate.emitted.spec
    defaults = tuple((symbol, sizes.get(symbol, size)) for symbol, size in spec.defaults)
    sized = replace(candidate.task, spec=replace(spec, defaults=defaults))
    try:
        return time_program(
            ImplChecker(sized).check(Embedded.whole(candidate.emitted.impl)), CHIP, "exact", _STEPS
        ).cycles
    except NotTimed:
        return None


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return sizes as a table shows them."""
    return ", ".join(f"{symbol}={size}" for symbol, size in sizes.items())


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return exp(sum(map(log, values)) / len(values))
