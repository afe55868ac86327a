"""Verdicts: what a verification reports, and the one place where findings and runs become one. No torch here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

from stepcore.findings.codes import Part, about, faults
from stepcore.findings.diagnostics import Diagnostic, Severity, StepError
from stepcore.jobdata.programs import (
    AffineRow,
    ConditionRow,
    FunctionalRow,
    MismatchRow,
    NanOriginRow,
    Number,
    ShapeRow,
    UntestedRow,
    VerdictRow,
)
from stepcore.records import Record
from stepcore.text.span import Span

ARRIVAL: Final = "STEP414"
UNTESTED: Final = "STEP415"
_MOST_SHOWN: Final = 3  # conditions that a note tells; a row has all of them


class FunctionalPart(Record):
    """Whether every component is close to its reference.

    ``max_abs_error`` is the largest absolute difference in the run's own precision, ``max_abs_error_fp64`` that of
    the run in fp64, which takes place after a mismatch and then decides. Infinite where NaN, Inf or shapes
    differ; None where nothing was compared. ``code`` names the kind of failure, ``span`` its place in the text of a
    function or reference.
    """

    ok: bool
    detail: str = ""
    max_abs_error: float | None = None
    max_abs_error_fp64: float | None = None
    code: str = ""
    span: Span | None = None


class MismatchPlace(Record):
    """The first entry that differs: ``index`` is outermost first, into the tensor of ``component`` of ``output``."""

    output: int
    component: int
    index: tuple[int, ...]
    expected: float
    got: float


class Comparison(Record):
    """Results beside references: ``max_abs_error`` is infinite where NaN, Inf or shapes differ.

    ``code`` says what kind of difference it is: STEP402 for another shape, dtype or number, STEP401 for other values.
    """

    ok: bool
    max_abs_error: float
    detail: str = ""
    mismatch: MismatchPlace | None = None

    @property
    def code(self) -> str:
        """The kind of difference; empty where there is none."""
        if self.ok:
            return ""
        return "STEP402" if self.mismatch is None else "STEP401"

    def judged(self, precise: Comparison | None = None) -> FunctionalPart:
        """Return what it says of values. ``precise`` is that of the run in fp64 after a mismatch, and decides."""
        if precise is None:
            code = "" if self.ok else self.code
            return FunctionalPart(self.ok, self.detail, self.max_abs_error, None, code)
        detail = f"equal in fp64; in fp32 {self.detail}" if precise.ok else precise.detail
        return FunctionalPart(precise.ok, detail, self.max_abs_error, precise.max_abs_error, precise.code)


class NanOrigin(Record):
    """Where a value that is not finite (``kind`` is ``NaN`` or ``Inf``) appeared though the inputs had none.

    ``node`` is the index of the operator in the graph, ``stream`` that of its output; ``name`` is the stream's.
    """

    node: int
    stream: int
    kind: str
    operator: str
    name: str


class UntestedCondition(Record):
    """A condition that went one way only: what to say of it, and where it stands.

    ``span`` is its place in the text of the declarations; of a user's own Python there are line and column, from 1.
    """

    note: str
    span: Span | None = None
    line: int = 0
    column: int = 0

    @property
    def placed(self) -> str:
        """The note with its place, as far as that is known."""
        return f"{self.note} (line {self.line}, column {self.column})" if self.line else self.note


class Untested(Record):
    """What a verification says nothing about, on the data drawn and on stronger data.

    ``inputs`` are inputs and parameters that the reference computes with, and on which no result depends;
    ``outputs`` are results that were the same for all inputs. ``fixed`` are those that are all ones, or all zeros, by
    how they are drawn, without which the program is right for these numbers only. ``conditions`` of program or
    reference went the same way on all data.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    conditions: tuple[UntestedCondition, ...] = ()

    def both(self, other: Untested | None) -> Untested | None:
        """Return what neither of two verifications of one task tests.

        What is said of one program (``fixed`` inputs, conditions) stays: ``other`` is about the reference alone.
        """
        inputs = () if other is None else tuple(name for name in self.inputs if name in other.inputs)
        outputs = () if other is None else tuple(name for name in self.outputs if name in other.outputs)
        return replace(self, inputs=inputs, outputs=outputs).or_none()

    def or_none(self) -> Untested | None:
        """Return None where everything is tested."""
        return self if self.inputs or self.outputs or self.fixed or self.conditions else None

    @property
    def note(self) -> str:
        """The consequence, for people."""
        parts: list[str] = []
        if self.inputs:
            them = "it" if len(self.inputs) == 1 else "them"
            parts.append(
                f"no result depends on {_listed(self.inputs, 'or')}: a program without {them} is accepted, too"
            )
        if self.outputs:
            was = "is" if len(self.outputs) == 1 else "are"
            names = _listed(self.outputs, "and")
            parts.append(f"{names} {was} the same for all inputs: a program that returns constants is accepted, too")
        if self.fixed:
            them, are = ("it", "is") if len(self.fixed) == 1 else ("them", "are")
            names = _listed(self.fixed, "and")
            parts.append(
                f"{names} {are} all ones or zeros as drawn: with other numbers this program is wrong in {them}"
            )
        parts += [condition.placed for condition in self.conditions[:_MOST_SHOWN]]
        if len(self.conditions) > _MOST_SHOWN:
            parts.append(f"{len(self.conditions) - _MOST_SHOWN} more conditions went one way only")
        return "; ".join(parts)

    @property
    def coded(self) -> str:
        """The note with the code that explains it."""
        return f"{self.note} ({UNTESTED})"


def _listed(names: tuple[str, ...], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


class Verdict(Record):
    """The three verdicts on one candidate. ``node`` is the operator that failed, ``seconds`` the wall-clock time.

    ``untested`` says what a verdict on values that are right is not worth (STEP415), None where all inputs matter.
    """

    shape: ShapeRow
    functional: FunctionalPart
    affine: AffineRow
    seconds: float
    mismatch: MismatchPlace | None = None
    nan_origin: NanOrigin | None = None
    node: int | None = None
    untested: Untested | None = None

    @property
    def detail(self) -> str:
        """What there is to say about shape, values and affine rule, in this order."""
        parts = (self.shape.detail, self.functional.detail, self.affine.detail)
        return "; ".join(part for part in parts if part)

    @property
    def accepted(self) -> bool:
        """True when all three hold."""
        return self.shape.ok and self.functional.ok and self.affine.ok


class Static(Record):
    """What is known of a program without a run; ``blocked`` is the code of what keeps it from one, or empty."""

    shape: ShapeRow
    affine: AffineRow
    blocked: str = ""

    def unrun(
        self, code: str = "", detail: str = "not run: the program has errors", since: float | None = None
    ) -> Verdict:
        """Return the verdict on a program that was not run; ``code`` says why where its own findings do not."""
        return self.ran(FunctionalPart(False, detail, code=code or self.blocked), since)

    def ran(self, functional: FunctionalPart, since: float | None = None, **more: Any) -> Verdict:
        """Return the verdict on a program whose run came to ``functional``; ``more`` are fields of :class:`Verdict`.

        ``since`` is when the verification began (``time.perf_counter``), None where it took no time.
        """
        seconds = 0.0 if since is None else perf_counter() - since
        return Verdict(self.shape, functional, self.affine, seconds, **more)


NOTHING_WRONG: Final = Static(ShapeRow(True, ""), AffineRow(True, 0, ""))
NOT_CHECKED: Final = Static(ShapeRow(False, "not checked"), AffineRow(False, 0, "not checked"))


def static(
    found: Iterable[Diagnostic], affine_count: int, *, complete: bool = True, undecided: Diagnostic | None = None
) -> Static:
    """Return what the findings on a program say of it; ``affine_count`` is the number of missing copies.

    Each fault leaves the types wrong or unknown. Those about outputs alone do not keep a program from a run, an
    incomplete graph does; ``undecided`` says why it is incomplete where no finding does.
    """
    errors = [item for item in found if item.severity is Severity.ERROR]
    if not errors and not affine_count and complete:
        return NOTHING_WRONG
    overused = next((item.message for item in errors if about(item.code).part is Part.AFFINE), "")
    affine = AffineRow(not affine_count, affine_count, overused if affine_count else "")
    wrong = faults(errors)
    blocking = [item for item in wrong if about(item.code).blocks]
    if wrong:
        stops = blocking if complete else blocking or wrong
        return Static(ShapeRow(False, (blocking or wrong)[0].message), affine, stops[0].code if stops else "")
    if not complete:
        text = "the program is incomplete" if undecided is None else undecided.message
        return Static(ShapeRow(False, text), affine, "STEP220" if undecided is None else undecided.code)
    return Static(ShapeRow(True, ""), affine)


def raised(found: Iterable[StepError], known: Static = NOTHING_WRONG) -> Static:
    """Return what a program that ran as Python showed besides what was ``known``: types and uses that are wrong.

    Other errors (a function that failed, a limit) concern its values alone.
    """
    wrong: dict[Part | None, list[str]] = {Part.SHAPE: [], Part.AFFINE: []}
    for error in found:
        wrong.setdefault(about(error.code).part, []).append(error.message)
    shape, affine = known.shape, known.affine
    if shape.ok and wrong[Part.SHAPE]:
        shape = ShapeRow(False, wrong[Part.SHAPE][0])
    if affine.ok and wrong[Part.AFFINE]:
        affine = AffineRow(False, len(wrong[Part.AFFINE]), wrong[Part.AFFINE][0])
    return Static(shape, affine)


def as_row(
    task: str, path: str, verdict: Verdict, detail: str | None = None, nan_origin: NanOriginRow | None = None
) -> VerdictRow:
    """Return a verdict as jobs give it.

    Errors that are not finite are given as None. ``detail`` replaces that of the functional part; ``nan_origin`` is the
    verdict's, with its place in the file.
    """
    functional = verdict.functional
    errors = finite(functional.max_abs_error), finite(functional.max_abs_error_fp64)
    return VerdictRow(
        task,
        path,
        verdict.accepted,
        verdict.shape,
        FunctionalRow(functional.ok, functional.detail if detail is None else detail, *errors, functional.code),
        verdict.affine,
        verdict.seconds,
        _mismatch(verdict.mismatch),
        nan_origin,
        _untested(verdict.untested),
    )


def _untested(untested: Untested | None) -> UntestedRow | None:
    if untested is None:
        return None
    rows = tuple(ConditionRow(each.note, each.line, each.column) for each in untested.conditions)
    return UntestedRow(UNTESTED, untested.inputs, untested.outputs, untested.note, untested.fixed, rows)


def _mismatch(place: MismatchPlace | None) -> MismatchRow | None:
    if place is None:
        return None
    numbers = number_json(place.expected), number_json(place.got)
    return MismatchRow(place.output, place.component, place.index, *numbers)


def finite(number: float | None) -> float | None:
    """Return ``number``, or None where it is no finite one."""
    return number if number is not None and math.isfinite(number) else None


def number_json(number: float) -> Number:
    """Return a number, or "nan", "inf", "-inf" for those that JSON has no word for."""
    return number if math.isfinite(number) else str(number)
