"""Programs that were written, by what they take on the chip: those with fewer cycles first, then what stops."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepcore.findings.diagnostics import apply_edits
from stepcore.ide.implement import impl_edit
from stepcore.jobdata.choices import SUFFIXES
from stepcore.jobdata.writing import FunctionRequest, ProposeRequest, Solution
from stepserver.documents import Module
from stepserver.timing.status import TimingStatus

_SECONDS: Final = 20.0  # for all programs of an order; without an answer by then they stay as they came


async def ranked(
    timing: TimingStatus, module: Module, request: ProposeRequest | FunctionRequest, solutions: Sequence[Solution]
) -> tuple[Solution, ...]:
    """Return verified programs with their cycles, the fastest first; of equally fast ones the order stays.

    What a search timed on data comes by those cycles: without data nobody knows where rows go.
    """
    try:
        async with asyncio.timeout(_SECONDS):
            found = [await _timed(timing, module, request, solution) for solution in solutions]
    except TimeoutError:
        return tuple(solutions)
    counted = [
        each.cycles if solution.cycles is None else solution.cycles
        for each, solution in zip(found, solutions, strict=True)
    ]
    order = sorted(range(len(found)), key=lambda place: (counted[place] is None, counted[place] or 0))
    return tuple(found[place] for place in order)


async def _timed(
    timing: TimingStatus, module: Module, request: ProposeRequest | FunctionRequest, solution: Solution
) -> Solution:
    """Return a program with what it takes; as it is where nobody can tell."""
    if isinstance(request, FunctionRequest):
        path = str(Path(request.path).with_name(f"synthesized{SUFFIXES[request.emit]}"))
        text = solution.text or ""
    else:
        try:
            path, text = request.path, apply_edits(request.text, [impl_edit(request.text, solution.impl)])
        except ValueError:  # the document changed its form meanwhile: who takes the program is told
            return solution
    told = await timing.told(module, path, text)
    return replace(solution, cycles=told.cycles, ratio=told.ratio, timing=told.line or None)
