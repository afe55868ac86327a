"""What rewrites could do in a program of a document, and why they cannot: a job of the timer's worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepcore.cycles.bounds import COMPUTE
from stepcore.jobdata.timing import ExplainedRow, ExplainRequest, ExplainResult
from stepcore.rewrites import REWRITES, subject_of
from stepcore.rewrites.explaining import ExplainedPlace, explained
from stepcore.timer.documents import chip_of

_STEPS: Final = 20_000_000  # of units: as many as a candidate of a search gets


def reasons(request: ExplainRequest, check: Callable[[], None]) -> ExplainResult:
    """Return what each rewrite could do, and why others do not apply; ``check()`` raises when nobody waits any more.

    Raises:
        HardwareError: the chip's description cannot be used.
    """
    chip = chip_of(request)
    subject = subject_of(request.text, request.path, request.program, request.affine)
    if subject is None:
        return ExplainResult((), "it has errors: they have to be mended first")
    rows = []
    for place in explained(subject.timed_on(chip, request.compute or COMPUTE, _STEPS) or subject, REWRITES):
        check()
        rows.append(_row(place))
    return ExplainResult(tuple(rows))


def _row(place: ExplainedPlace) -> ExplainedRow:
    start, end = (-1, -1) if place.span is None else (place.span.start, place.span.end)
    return ExplainedRow(place.rewrite, place.applies, place.sentence, start, end)
