"""Applying the fixes of findings: which can be applied at once, and all of a file, round by round."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from math import inf
from typing import Final

from stepcore.check.files import check_text
from stepcore.findings import budget
from stepcore.findings.budget import Budget
from stepcore.findings.codes import APPLIED
from stepcore.findings.diagnostics import Edit, Fix, apply_edits
from stepcore.jobdata.choices import AffineRule
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.text.span import Span

_ROUNDS: Final = 8  # of fixes, that a file may take at its full length; one or two are usual


def fix_text(
    text: str,
    path: str,
    *,
    affine: AffineRule = "strict",
    impl: tuple[str, str] | None = None,
    dialect: Dialect = GENERATION_1,
) -> str:
    """Return ``text`` (or the text of ``impl``) with the fixes of all affine findings applied, until none is left.

    What one round mends may uncover more (a helper that several programs use, fixes in conflict). Rounds end when the
    number of missing copies no longer falls.
    """
    last = mended = text if impl is None else impl[0]
    fewest: float = inf
    whole = Budget.for_text(_ROUNDS * (len(text) + len(mended)))  # of all rounds
    while True:
        second = None if impl is None else (mended, path)
        with budget.using(whole):
            result = check_text(mended if impl is None else text, path, affine=affine, impl=second, dialect=dialect)
        missing = sum(program.affine_count for program in result.programs)
        if missing >= fewest or whole.is_spent:  # what was not looked at may miss copies, too
            return last
        found = result.diagnostics if impl is None else result.impl_diagnostics
        edits = combine([item.fix for item in found if item.fix is not None and item.code in APPLIED])
        if not edits:  # pragma: no mutate: saves a round that changes nothing
            return mended
        fewest, last, mended = missing, mended, apply_edits(mended, edits)


def combine(fixes: Iterable[Fix]) -> list[Edit]:
    """Return the edits of as many fixes as can be applied at once: a fix is taken whole or not at all."""
    taken: dict[Edit, None] = {}
    spans: list[Span] = []  # of what is taken, sorted
    for fix in fixes:
        new = [edit for edit in fix.edits if edit not in taken]
        if not any(_overlaps(spans, edit.span) for edit in new):
            for edit in new:
                taken[edit] = None
                insort(spans, edit.span)
    return list(taken)


def _overlaps(spans: list[Span], span: Span) -> bool:
    """Return whether ``span`` overlaps one of ``spans``, which are sorted and do not overlap; insertions never do."""
    at = bisect_left(spans, span)
    near = spans[max(at - 1, 0) : at + 1]  # pragma: no mutate: more of them would do, and take longer
    return any(other.start < span.end and span.start < other.end for other in near)
