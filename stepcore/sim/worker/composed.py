"""The compositions of a Python file, ready to be verified."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final

from stepcore.check import CheckResult
from stepcore.check.compositions import CheckedComposition
from stepcore.check.files import composition_faults
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Verdict
from stepcore.frontend.composed import Composed
from stepcore.jobdata.programs import VerifyRequest
from stepcore.records import Record
from stepcore.sim.composed import AppliedProgram, ComposedRun, Problem, refused
from stepcore.sim.worker.imports import guarded_reference
from stepcore.sim.worker.tasks import Candidate, checked_file, imported_module, position
from stepcore.surface.composition import Composition
from stepcore.surface.program import Program

NO_TEXT: Final = Problem("STEP220", "a composition is a function at the top level of its file")


class Judged(Record):
    """A composition, its verdict, and the programs that it applies, by their names."""

    name: str
    verdict: Verdict
    programs: frozenset[str] = frozenset()


def holds_composition(request: VerifyRequest) -> bool:
    """Whether a file may hold compositions: cheap, and never wrongly false."""
    return request.path.endswith(".py") and "composition" in request.text


def batched(request: VerifyRequest) -> VerifyRequest:
    """Return the order of a job that imports its file once for programs and compositions."""
    return replace(request, batch=request.batch or secrets.token_hex(8))


def judged_compositions(request: VerifyRequest, candidates: Sequence[Candidate]) -> list[Judged]:
    """Verify all compositions of a Python file, or the one that ``program`` names.

    Raises:
        JobError: the file cannot be imported.
    """
    module = imported_module(request)
    result = checked_file(request.text, request.path, request.affine)
    by_node = {each.node.name: each for each in result.compositions}
    names = {name: value.name for name, value in vars(module).items() if isinstance(value, Program)}
    by_name = {each.name: part_of(each) for each in candidates}
    parts = {name: by_name[title] for name, title in names.items() if title in by_name}
    found: list[Judged] = []
    for value in vars(module).values():
        if not isinstance(value, Composition) or request.program not in (None, value.name):
            continue
        checked = by_node.get(value.__wrapped__.__name__)
        start = perf_counter()
        problem = _problem(result, checked)
        if problem is None and checked is not None and value.fault is not None:
            line = position(result.source, checked.extent)[0]
            problem = Problem(value.fault.code, f"line {line}: {value.fault.message}")
        if problem is not None or checked is None or checked.text is None:
            found.append(Judged(value.name, refused(problem or NO_TEXT, start)))
            continue
        applied = frozenset(names[call.program] for call in checked.text.calls if call.program in names)
        try:
            text = _in_file(checked.text, result, checked)
            verdict = _run(request, value, checked, text, parts).verify()
        except SimError as error:
            verdict = refused(Problem(error.code, error.message), start)
        found.append(Judged(value.name, verdict, applied))
    return found


def part_of(candidate: Candidate) -> AppliedProgram:
    """Return a program as a composition runs it, at other sizes, too."""

    def at(sizes: Mapping[str, int]) -> AppliedProgram:
        checked = candidate.at(sizes)
        assert checked is not None  # a program of a Python file
        return AppliedProgram(checked, candidate.make(checked.spec), candidate.faults, at)

    return AppliedProgram(candidate.checked, candidate.session, candidate.faults, at)


def _problem(result: CheckResult, checked: CheckedComposition | None) -> Problem | None:
    """Return the first finding with which a composition is not run."""
    if checked is None:
        return NO_TEXT
    errors = [*checked.errors, *composition_faults(result, checked)]
    if not errors:
        return None
    first = min(errors, key=lambda item: item.span.start)
    return Problem(first.code, f"line {position(result.source, first.span)[0]}: {first.message}")


def _in_file(text: Composed, result: CheckResult, checked: CheckedComposition) -> Composed:
    """Return a composition with lines of its file: it was read as a block of its own."""
    more = position(result.source, checked.extent)[0] - checked.node.decorator_list[0].lineno
    calls = tuple(replace(call, line=call.line + more) for call in text.calls)
    return replace(text, calls=calls, line=text.line + more)


def _run(
    request: VerifyRequest,
    value: Composition,
    checked: CheckedComposition,
    text: Composed,
    parts: Mapping[str, AppliedProgram],
) -> ComposedRun:
    """Return what runs a composition.

    Raises:
        SimError: its weights cannot be read.
    """
    try:
        weights = value.tensors()
    except Exception as error:
        raise SimError("STEP408", f"the weights of {value.name} cannot be read: {error}") from error
    reference = None if value.reference is None else guarded_reference(value.reference, request.place)
    dims = {**checked.sizes, **request.dims}
    weighted = value.weights is not None
    return ComposedRun(text, checked.ports, parts, weights, reference, dims, weighted=weighted, seed=request.seed)
