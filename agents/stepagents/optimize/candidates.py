"""Candidates of the search for faster programs: texts with what they cost, and the steps that led to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Final

from stepcore.cycles.bounds import COMPUTE, bound_of
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import Timed, time_program
from stepcore.jobdata.optimizing import Figures
from stepcore.records import Record
from stepcore.rewrites import Rewrite, RewriteSite, RewriteSubject
from stepcore.rewrites.bandwidths import compute_used
from stepcore.timing.hardware import Hardware

STEPS: Final = 20_000_000  # of units, in one run
FLUID_STEPS: Final = 5_000_000
_WRITTEN_AGAIN: Final = frozenset({"tile-sizes", "lane-counts", "bandwidths", "depths", "input-fifos"})


class Goal(Enum):
    """What is wanted: the fewest cycles, the fewest bytes on chip without more cycles, or all that lies between."""

    CYCLES = "cycles"
    MEMORY = "memory"
    FRONT = "front"


class OptimizeTarget(Record):
    """What programs are optimized for: a chip, FLOPs per cycle of all its units, and bytes on it (0: no limit).

    ``only_impl``: of a task nothing but the program may change, as where that is an answer in a file of its own.
    """

    chip: Hardware
    compute: int = COMPUTE
    capacity: int = 0
    goal: Goal = Goal.CYCLES
    only_impl: bool = False

    def sites(self, rewrite: Rewrite, subject: RewriteSubject) -> tuple[RewriteSite, ...]:
        """Return where a rewrite applies to a program and changes nothing that is to stay."""
        return tuple(site for site in rewrite.sites(subject) if not self.only_impl or subject.is_within_impl(site))


class OptimizeStep(Record):
    """One rewrite on the way to a program: what it did, and what it brought."""

    rewrite: str
    sentence: str
    before: Figures | None
    after: Figures


@dataclass(frozen=True)
class FasterText:
    """A program that runs to its end: its text, what it costs, and the steps from the old one to it."""

    text: str
    figures: Figures
    steps: tuple[OptimizeStep, ...] = ()

    @property
    def key(self) -> str:
        """The name of its text."""
        return key_of(self.text)

    @property
    def cost(self) -> tuple[int, int]:
        """Its cycles, then its bytes on chip: what the best of several is chosen by."""
        return self.figures.cycles, self.figures.on_chip

    @property
    def niche(self) -> int:
        """How many changes led to it that cannot be made again with other numbers: programs of as many are compared."""
        return sum(step.rewrite not in _WRITTEN_AGAIN for step in self.steps)


@dataclass
class NicheBests:
    """The fewest cycles of the programs of each niche (:attr:`FasterText.niche`)."""

    _fewest: dict[int, int] = field(default_factory=dict, init=False)

    def note(self, niche: int, cycles: int) -> None:
        """Take in what a program takes."""
        self._fewest[niche] = min(self._fewest.get(niche, cycles), cycles)

    def beside(self, niche: int, cycles: int) -> float:
        """Return how many times the cycles of the best of its niche a program takes; one of that niche was noted."""
        return max(cycles, 1) / max(self._fewest[niche], 1)


def key_of(text: str) -> str:
    """Return a short name of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def figures_of(timed: Timed, target: OptimizeTarget) -> Figures | None:
    """Return what a timed program costs; None where it stops, or its memory on chip is not known."""
    if timed.cycles is None or timed.on_chip is None:
        return None
    bound = bound_of(timed, target.compute)
    return Figures(
        timed.cycles,
        timed.on_chip,
        timed.off_chip_bytes,
        compute_used(timed),
        None if bound is None else bound.cycles,
        "" if bound is None else bound.rules,
    )


def timed_subject(subject: RewriteSubject, target: OptimizeTarget) -> RewriteSubject | None:
    """Return a program with its exact timing; None where it cannot be timed."""
    return subject.timed_on(target.chip, target.compute, STEPS)


def estimate(subject: RewriteSubject, target: OptimizeTarget) -> int | None:
    """Return about how many cycles a program takes; None where it stops, or cannot be timed."""
    try:
        return time_program(subject.checked, target.chip, "fluid", FLUID_STEPS).cycles
    except NotTimed:
        return None
