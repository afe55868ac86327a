"""The verdict on a program whose graph follows sizes: it has to be right at other sizes, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from stepcore.check.elsewhere import At, elsewhere
from stepcore.check.programs import Checked
from stepcore.findings.codes import Outcome, about
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import FunctionalPart, Untested, Verdict
from stepcore.graph.ir import ProgramSpec
from stepcore.sim.doubted import doubted_sizes, wrong_at
from stepcore.sim.functional import Session
from stepcore.sim.resized import has_declared_shapes
from stepcore.sizes.dim import DimError

# Bytes of a run at other sizes: these are tried beyond what was asked for, so they must not cost much.
LIMIT: Final = 1 << 28

# Makes a session for a specification whose sizes are bound; no more than LIMIT bytes.
Make = Callable[[ProgramSpec], Session]


def examined_everywhere(session: Session, checked: Checked, at: At, make: Make, decided: Verdict) -> Verdict:
    """Return a verdict of :meth:`Session.decided` with what it is worth, and where the candidate's graph follows sizes
    also with what it is at other sizes.

    Never raises for what the candidate does. Where the task itself cannot be run (its reference fails, or has other
    shapes than declared there; the data are too large) a program is not judged.
    """
    verdict = session.examined(checked, decided)
    if not verdict.accepted:
        return verdict
    if checked.followed is None:
        return _doubted(session, checked, at, make, verdict)
    for sizes, there in elsewhere(checked, at):
        reason = wrong_there(there, make)
        if reason is not None:
            code, text = reason
            first = listed({name: checked.followed.sizes[name] for name in sizes}, sizes)
            detail = f"right at {first}, but at {listed(sizes, checked.followed.sizes)}: {text}"
            part = FunctionalPart(False, detail, verdict.functional.max_abs_error, code=code)
            return replace(verdict, functional=part, untested=None)
    return verdict


def _doubted(session: Session, checked: Checked, at: At, make: Make, verdict: Verdict) -> Verdict:
    """Return a verdict with a note where a number in a function may be that of a size, see :mod:`stepcore.sim.doubted`.

    It is no part of what a verdict is worth on other data, which nothing looks at where these are many.
    """
    tried = doubted_sizes(checked.typed, session.spec, session.bindings) if session.is_examined else []
    for sizes in tried:
        there = at(sizes)
        # what is refused there (a tile that does not divide the size) is no program there, and wrong nowhere
        reason = None if there is None or _errors(there) else wrong_there(there, make)
        if reason is not None:
            known = verdict.untested or Untested()
            note = wrong_at(session.bindings, sizes, reason[1])
            return replace(verdict, untested=replace(known, conditions=(*known.conditions, note)))
    return verdict


def wrong_there(there: Checked, make: Make) -> tuple[str, str] | None:
    """Return as code and text why a program is wrong at the sizes of its specification; None where it is not."""
    try:
        session = make(there.spec)
        if not has_declared_shapes(there.spec, session.bindings, session.world):
            return None
    except (SimError, DimError):
        return None
    if errors := _errors(there):
        return errors[0].code, f"{errors[0].code} {errors[0].message}"
    verdict = session.verify(there)
    if verdict.accepted or about(verdict.functional.code).outcome is Outcome.OUT_OF_MEMORY:
        return None
    return verdict.functional.code, verdict.detail


def _errors(checked: Checked) -> list[Diagnostic]:
    return [item for item in checked.diagnostics if item.severity is Severity.ERROR]


def listed(sizes: Mapping[str, int], others: Mapping[str, int]) -> str:
    """Return as text those sizes that differ from ``others``."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items() if size != others[name])
