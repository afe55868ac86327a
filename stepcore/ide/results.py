"""What a simulation says about a document: findings at the right places, and the values of streams for hovers.

Places are found through the graph and not by line, so that they
follow a program that has only moved since its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepcore.findings.diagnostics import Diagnostic, Related, Severity
from stepcore.graph.ir import Graph
from stepcore.ide.analysis import Analysis, DocumentUnit
from stepcore.text.span import Span

if TYPE_CHECKING:
    from stepcore.jobdata.programs import (
        ArrivalRow,
        MismatchRow,
        NanOriginRow,
        Number,
        SimulateResult,
        StreamRow,
        UntestedRow,
        VerdictRow,
    )


def seen_stream(run: SimulateResult, graph: Graph, index: int) -> StreamRow | None:
    """Return the values of stream ``index`` of ``graph``; None where the run was that of another program."""
    if len(graph.streams) != len(run.streams) or not 0 <= index < len(run.streams):
        return None
    found = run.streams[index]
    return found if found.name == graph.streams[index].name else None


def failure_diagnostics(
    analysis: Analysis, program: str, code: str, message: str, node: int | None
) -> list[Diagnostic]:
    """Return the finding of a run that failed: at the operator ``node``, else at the program's name."""
    unit = analysis.program(program)
    return [] if unit is None else _moved(unit, _Places(unit).failure(code, message, node))


def run_diagnostics(
    analysis: Analysis, program: str, verdict: VerdictRow | None, arrival: Sequence[ArrivalRow] = ()
) -> list[Diagnostic]:
    """Return the findings of a run, in positions of ``analysis``; none where the program is gone.

    ``arrival`` says where its results depend on the order of arrival.
    """
    unit = analysis.program(program)
    if unit is None or not (verdict or arrival):
        return []
    places = _Places(unit)
    return _moved(unit, [*(places.verdict(verdict) if verdict else ()), *places.arrival(arrival)])


def _moved(unit: DocumentUnit, found: list[Diagnostic]) -> list[Diagnostic]:
    moved = (unit.moved(item) for item in found)
    return [item for item in moved if item is not None]


def output_span(analysis: Analysis, program: str, output: int) -> Span | None:
    """Return where a program returns its output of this number, in positions of ``analysis``."""
    unit = analysis.program(program)
    spans = unit.checked.graph.return_spans if unit is not None and unit.checked is not None else []
    return unit.to_document(spans[output]) if unit is not None and 0 <= output < len(spans) else None


class _Places:
    """Findings of one run, in positions of the unit."""

    def __init__(self, unit: DocumentUnit) -> None:
        checked = unit.checked
        assert checked is not None
        self.name = checked.name
        self.graph = checked.graph
        self.head = _head(unit)

    def failure(self, code: str, message: str, node: int | None) -> list[Diagnostic]:
        """Findings of a job that ended with an error: at the operator that failed, else at the program's name."""
        span = self.head
        if node is not None and 0 <= node < len(self.graph.nodes):
            span = self.graph.nodes[node].op_span
        return [Diagnostic(code, span, f"simulation: {message}", program=self.name)]

    def verdict(self, verdict: VerdictRow) -> list[Diagnostic]:
        """Findings of a run that was compared with its reference."""
        if verdict.functional.ok:
            return self._untested(verdict.untested)
        functional, mismatch, origin = verdict.functional, verdict.mismatch, verdict.nan_origin
        output = self.head if mismatch is None else self._output(mismatch.output)
        # With a place the detail begins with the output that differs.
        text = functional.detail if mismatch is not None else f"differs from the reference: {functional.detail}"
        if origin is None:
            return [Diagnostic(functional.code or "STEP401", output, text, program=self.name)]
        text = f"{origin.kind} first appears here, in {origin.stream}, although the inputs have none"
        reach = (Related(output, mismatch_text(mismatch)),) if mismatch is not None else ()
        return [Diagnostic("STEP403", self._origin(origin), text, related=reach, program=self.name)]

    def _untested(self, untested: UntestedRow | None) -> list[Diagnostic]:
        if untested is None:
            return []
        return [Diagnostic(untested.code, self.head, untested.note, Severity.WARNING, program=self.name)]

    def arrival(self, rows: Sequence[ArrivalRow]) -> list[Diagnostic]:
        """Findings of a run whose results depend on the order of arrival, at the operators to which chunks come."""
        there = [(row, self.graph.nodes[row.node]) for row in rows if 0 <= row.node < len(self.graph.nodes)]
        return [
            Diagnostic(row.code, node.op_span, row.note, Severity.WARNING, program=self.name)
            for row, node in there
            if node.written == row.operator
        ]

    def _output(self, number: int) -> Span:
        spans = self.graph.return_spans
        return spans[number] if 0 <= number < len(spans) else self.head

    def _origin(self, origin: NanOriginRow) -> Span:
        graph = self.graph
        for node in graph.nodes:
            if node.written == origin.operator and any(
                graph.streams[index].name == origin.stream for index in node.outputs
            ):
                return node.op_span
        return self.head


def mismatch_text(mismatch: MismatchRow) -> str:
    """Say where a result first differs: ``output 0 at [2, 3]: expected 1.5, got 0``."""
    index = ", ".join(map(str, mismatch.index))
    component = f", component {mismatch.component}" if mismatch.component else ""
    expected, got = number_text(mismatch.expected), number_text(mismatch.got)
    return f"output {mismatch.output}{component} at [{index}]: expected {expected}, got {got}"


def number_text(number: Number) -> str:
    """Return a number of a run with six digits; NaN and infinities as they are."""
    return number if isinstance(number, str) else f"{number:.6g}"


def _head(unit: DocumentUnit) -> Span:
    """Return where a finding on the whole program stands: its name."""
    checked = unit.checked
    assert checked is not None
    span = checked.spec.span
    return span if span.end > span.start else Span(checked.span.start, checked.span.start)
