"""Cycles of programs that were found: among right ones, those that take fewer cycles on the project's chip come first.

What stops on hardware, and what cannot be timed within the budget of a verdict, comes last, in the order that it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from stepcore.cli.beside import STEPS, Beside, TimingWishes, beside_composition, beside_program, right_programs
from stepcore.cycles.composed import subjects
from stepcore.jobdata.programs import AnswerFile, VerifyRequest
from stepcore.settings.config import Config, ConfigError, Configs

T = TypeVar("T")

ORDER: Final = "of right programs, those with fewer cycles come first; then what stops, or could not be timed"
_NOT_ONE: Final = "several programs that nothing applies one after the other: `stepsmith time` shows each"
_STEPS: Final = 4 * STEPS  # of units: a network has many programs


def timed_text(text: str, path: str, near: Path, impl: str | None = None, wishes: TimingWishes | None = None) -> Beside:
    """Return the timing of the one program of a file that is not written yet, or of the answer ``impl`` to a task.

    That of a file of several programs is that of the composition that runs them one after the other.

    ``path`` tells the language by its suffix, ``near`` is where the configuration is looked for. The budget of
    ``wishes`` is that of one program.
    """
    answer = None if impl is None else AnswerFile("answer.impl.yaml", impl)
    request = VerifyRequest(path, text, path, None, answer, {})
    result, programs = right_programs(request)
    if len(programs) == 1:
        return beside_program(result, programs[0], request, _config(near), wishes)
    composed = list(subjects(result, path, request.affine))
    if len(composed) == 1 and programs:
        return beside_composition(composed[0], request, _config(near), replace(wishes or TimingWishes(), steps=_STEPS))
    return Beside(problem=_NOT_ONE if programs else "checking finds errors in it")


def ranked(
    items: Sequence[T], timing: Callable[[T], Beside], known: Callable[[T], int | None] = lambda _item: None
) -> list[tuple[T, Beside]]:
    """Return right programs with their timing, the fastest first.

    What a search timed on data comes by those cycles (``known``): without data nobody knows where rows go.
    """
    found = [(item, timing(item), known(item)) for item in items]
    cycles = [(item, told, told.cycles if counted is None else counted) for item, told, counted in found]
    return [(item, told) for item, told, _ in sorted(cycles, key=lambda each: (each[2] is None, each[2] or 0))]


def _config(near: Path) -> Config:
    try:
        return Configs().for_file(near)
    except ConfigError:  # whoever reads the configuration for its limits tells
        return Config()
