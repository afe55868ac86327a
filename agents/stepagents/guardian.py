"""The deterministic guardian: inserts the ``Copy`` operators that a program lacks, by the checker's own fixes."""

from __future__ import annotations

from math import inf

from stepcore.check.fixing import combine
from stepcore.check.programs import Checked, ImplChecker
from stepcore.check.trials import Trials, TrialState
from stepcore.findings.codes import APPLIED
from stepcore.findings.diagnostics import apply_edits
from stepcore.records import Record
from stepcore.text.span import Embedded


class Guarded(Record):
    """A program after the guardian: its text, what the checker says about it, and how many copies were missing."""

    text: str
    checked: Checked
    missing: int

    @property
    def changed(self) -> bool:
        """Whether copies were inserted."""
        return self.missing > self.checked.affine_count


def guard(checker: ImplChecker, text: str) -> Guarded:
    """Return ``text`` with all affine fixes applied, as :func:`stepcore.check.fixing.fix_text` does for files.

    What cannot be fixed stays: the caller sees it in ``checked``. A program that needs nothing is returned as it is.
    """
    first = checked = checker.check(Embedded.whole(text))
    fewest: float = inf
    while 0 < checked.affine_count < fewest:
        fewest = checked.affine_count
        trial = checker.check(Embedded.whole(text), "strict", Trials(text, lambda changed: _state(checker, changed)))
        edits = combine([d.fix for d in trial.diagnostics if d.fix is not None and d.code in APPLIED])
        if not edits:
            break
        mended = apply_edits(text, edits)
        after = checker.check(Embedded.whole(mended))
        if after.affine_count >= checked.affine_count:
            break
        text, checked = mended, after
    return Guarded(text, checked, first.affine_count)


def _state(checker: ImplChecker, text: str) -> TrialState:
    checked = checker.check(Embedded.whole(text))
    return TrialState.of([checked.graph], checked.diagnostics)
