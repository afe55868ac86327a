"""The job ``verify``: verdicts on one task or on the programs of one Python file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final

from stepcore.findings.codes import Outcome, about
from stepcore.findings.verdict import ARRIVAL, Untested, Verdict, as_row
from stepcore.graph.typed import TypedNode
from stepcore.jobdata.programs import ArrivalRow, NanOriginRow, VerdictRow, VerifyRequest
from stepcore.jobs import Context
from stepcore.sim.functional import Run
from stepcore.sim.worker.composed import Judged, batched, holds_composition, judged_compositions
from stepcore.sim.worker.script import script_of, script_row
from stepcore.sim.worker.tasks import Candidate, candidates, composition_named, position, use_threads


def verify(request: VerifyRequest, context: Context) -> tuple[VerdictRow, ...]:
    """Return one row per program."""
    start = perf_counter()
    if (script := script_of(request)) is not None:
        return (script_row(request, script),)
    rows: list[VerdictRow] = []
    has_compositions = holds_composition(request)
    if has_compositions:
        request = batched(request)
    if has_compositions and composition_named(request):
        parts = candidates(replace(request, program=None))
        return tuple(as_row(each.name, request.path, each.verdict) for each in judged_compositions(request, parts))
    found = candidates(request)
    for candidate in found:
        context.check()
        use_threads(candidate.session)
        verdict = candidate.verify()
        seconds = perf_counter() - start  # reading and checking belong to the first program
        rows.append(replace(row(request.path, candidate, verdict, seconds), arrival=arrival_of(candidate, verdict)))
        start = perf_counter()
    if has_compositions:
        judged = judged_compositions(request, found)
        for number, candidate in enumerate(found):
            if not candidate.session.world.has_reference:
                rows[number] = _judged_by_composition(rows[number], judged)
        rows += [as_row(each.name, request.path, each.verdict) for each in judged]
    return tuple(rows)


def _judged_by_composition(found: VerdictRow, judged: Sequence[Judged]) -> VerdictRow:
    """Accept a program without a reference of its own where a composition that applies it is right as a whole."""
    by = [each.name for each in judged if each.verdict.accepted and found.task in each.programs]
    is_right = found.shape.ok and found.affine.ok
    if by and is_right and about(found.functional.code).outcome is Outcome.NOT_COMPARED:
        functional = replace(found.functional, ok=True, detail=f"judged by the composition {by[0]}", code="")
        return replace(found, functional=functional, accepted=True)
    return found


def row(path: str, candidate: Candidate, verdict: Verdict, seconds: float) -> VerdictRow:
    """Return the verdict on a program, with the places of what failed."""
    origin = _nan_origin(candidate, verdict)
    detail = verdict.functional.detail + _place(candidate, verdict) + _first_appears(origin)
    untested = None if verdict.untested is None else _with_places(candidate, verdict.untested)
    return as_row(candidate.name, path, replace(verdict, seconds=seconds, untested=untested), detail, origin)


def _with_places(candidate: Candidate, untested: Untested) -> Untested:
    """Return ``untested`` with lines and columns for the places in the text of the declarations."""
    placed = []
    for each in untested.conditions:
        line, column = (each.line, each.column) if each.span is None else position(candidate.declarations, each.span)
        placed.append(replace(each, line=line, column=column))
    return replace(untested, conditions=tuple(placed))


_RAN: Final = (Outcome.DIFFERENT, Outcome.NOT_COMPARED)  # what programs come to that run to their end, but for right


def arrival_of(candidate: Candidate, verdict: Verdict, run: Run | None = None) -> tuple[ArrivalRow, ...]:
    """Return where results depend on the order of arrival; nothing of a program that does not run to its end.

    ``run`` is one of the program, where there was one already.
    """
    if not verdict.functional.ok and about(verdict.functional.code).outcome not in _RAN:
        return ()
    if candidate.faults or not candidate.checked.runnable:
        return ()
    graph = candidate.checked.typed
    found = candidate.session.against_arrival(graph, None if run is None else run.outputs)
    return tuple(_arrival_row(candidate, graph.nodes[each.node], each.note) for each in found)


def _arrival_row(candidate: Candidate, node: TypedNode, note: str) -> ArrivalRow:
    line, column = position(candidate.source, node.op_span)
    return ArrivalRow(ARRIVAL, node.written, node.index, line, column, note)


def _place(candidate: Candidate, verdict: Verdict) -> str:
    """Say where a function or reference failed, and under which operator."""
    span, node = verdict.functional.span, verdict.node
    where = []
    if span is not None:
        line, column = position(candidate.declarations, span)
        where.append(f"in line {line}, column {column}")
    if node is not None and verdict.functional.code:
        step = candidate.checked.graph.nodes[node]
        where.append(f"run by {step.written} in line {position(candidate.source, step.span)[0]}")
    return f" ({', '.join(where)})" if where else ""


def _nan_origin(candidate: Candidate, verdict: Verdict) -> NanOriginRow | None:
    origin = verdict.nan_origin
    if origin is None:
        return None
    line, column = position(candidate.source, candidate.checked.graph.nodes[origin.node].span)
    return NanOriginRow(origin.kind, origin.operator, origin.name, line, column)


def _first_appears(origin: NanOriginRow | None) -> str:
    if origin is None:
        return ""
    stream = origin.stream or "a stream without a name"
    return f"; {origin.kind} first appears in {stream}, made by {origin.operator} in line {origin.line}"
