"""Points of a space, ranked by the closed form, and the best of them timed: the same for every kind of schedule.

Cheap first: the closed form ranks all, the fluid engine those that it likes best, the exact engine the last few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.programs import Tiled
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.routes import ProgramRoutes
from stepcore.cycles.timed import time_program
from stepcore.jobdata.choices import TimingEngine
from stepcore.text.wording import times_text
from stepcore.timing.hardware import Hardware

_P = TypeVar("_P")
_K = TypeVar("_K", bound=str)
_STEPS: Final = 20_000_000  # of units, in one timing


@dataclass(frozen=True, slots=True)
class TimedPoint(Generic[_P]):
    """A point with its program and its cycles, by the closed form (``estimate``) and by the last engine that timed it.

    ``on_chip`` are its bytes on chip, None where nobody knows them.
    """

    point: _P
    program: Tiled
    estimate: int
    cycles: int
    on_chip: int | None = None


@dataclass(slots=True)
class Ranking(Generic[_P]):
    """How the points of one space become programs, and what they are measured by.

    ``write`` raises NoSchedule for a point that does not fit, ``estimate`` gives its cycles in closed form, ``routes``
    what data decide in it (None: nothing). ``tried`` counts points; ``refused`` says why one could not be written,
    ``problems`` why written ones that fit were not timed.
    """

    chip: Hardware
    capacity: int
    write: Callable[[_P], Tiled]
    estimate: Callable[[_P, Tiled], int]
    routes: Callable[[_P, Tiled], ProgramRoutes | None] = lambda _point, _program: None
    tried: int = 0
    least: int | None = None  # bytes that the smallest of the programs needs that do not fit
    refused: NoSchedule = field(default_factory=lambda: NoSchedule("no tiles fit the function's sizes"))
    problems: list[str] = field(default_factory=list)

    def best_of(
        self,
        ways: Iterable[tuple[_K, Iterable[_P]]],
        time: Callable[[list[TimedPoint[_P]]], list[TimedPoint[_P]]],
        tell: Callable[[int], None],
    ) -> dict[_K, list[TimedPoint[_P]]]:
        """Return for each way that has any the ranked points that ``time`` keeps. ``tell`` is told how many were tried.

        Raises:
            NoSchedule: no way has one.
        """
        found: dict[_K, list[TimedPoint[_P]]] = {}
        for way, points in ways:
            ranked = self.ranked(points)
            tell(self.tried)
            if kept := time(ranked):
                found[way] = kept
        if not found:
            raise self.reason()
        return found

    def ranked(self, points: Iterable[_P]) -> list[TimedPoint[_P]]:
        """Return the points that can be written and fit by the closed form, the fewest cycles first."""
        found: list[TimedPoint[_P]] = []
        seen: set[str] = set()
        for point in points:
            self.tried += 1
            try:
                program = self.write(point)
            except NoSchedule as error:
                self.refused = self.refused if self.refused.node is not None else error
                continue
            if program.estimated_bytes > self.capacity:
                self._note_too_large(program.estimated_bytes)
            elif program.impl not in seen:
                seen.add(program.impl)
                estimate = self.estimate(point, program)
                found.append(TimedPoint(point, program, estimate, estimate))
        return sorted(found, key=lambda each: each.cycles)

    def timed(
        self, items: Iterable[TimedPoint[_P]], engine: TimingEngine, most: int | None = None
    ) -> list[TimedPoint[_P]]:
        """Return those of the first ``most`` items that fit which run, with their cycles, the fewest first.

        The closed form knows too little of FIFOs and buffers: where the capacity is tight, many that it
        likes do not fit.
        """
        found: list[TimedPoint[_P]] = []
        fitting = 0
        for item in items:
            if fitting == most:
                break
            try:
                kept = item.program.metrics.on_chip.value
            except NoSchedule as error:  # it is refused
                self.problems.append(str(error))
                continue
            if kept is not None and kept > self.capacity:
                self._note_too_large(kept)
                continue
            fitting += 1
            try:
                found.append(self._one_timed(item, kept, engine))
            except (NotTimed, NoSchedule) as error:
                self.problems.append(str(error))
        return sorted(found, key=lambda each: each.cycles)

    def _one_timed(self, item: TimedPoint[_P], kept: int | None, engine: TimingEngine) -> TimedPoint[_P]:
        """Return an item with its cycles; ``kept`` are its bytes on chip, None where only a run knows them.

        Raises:
            NotTimed: it cannot be timed.
            NoSchedule: it is refused, stops, or does not fit.
        """
        checked = item.program.checked
        routes = self.routes(item.point, item.program)
        timed = time_program(checked, self.chip, engine, _STEPS, routes=routes)
        if timed.cycles is None:
            raise NoSchedule("a program that was written stops on the chip, a defect of Stepsmith")
        if kept is None and engine == "exact":
            kept = timed.on_chip
            if kept is not None and kept > self.capacity:
                self._note_too_large(kept)
                raise NoSchedule(self._too_large())
        item.program.cycles = timed.cycles
        return replace(item, cycles=timed.cycles, on_chip=kept)

    def _note_too_large(self, kept: int) -> None:
        self.least = kept if self.least is None else min(self.least, kept)

    def _too_large(self) -> str:
        return f"the smallest tiles need {self.least:,} bytes on chip or more, and there are {self.capacity:,}"

    def reason(self) -> NoSchedule:
        """Return why there is no program: one that fits has a problem, all are too large, or cannot be written."""
        if self.problems:
            return NoSchedule(self.problems[0])
        return self.refused if self.least is None else NoSchedule(self._too_large())


def beside(cycles: Mapping[_K, int], text: Callable[[_K], str]) -> str:
    """Say for each way what ``text`` says, and how many times the fewest cycles it takes where it takes more."""
    least = min(cycles.values())
    return ", ".join(
        text(way) + (f" ({times_text(count / least)})" if count > least else "") for way, count in cycles.items()
    )
