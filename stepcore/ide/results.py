"""What a simulation says about a document: findings at the right places, and the values of streams for hovers.

The input is what the job ``simulate`` returns (:func:`stepcore.sim.worker_simulate.simulate`), or, where the job
failed, ``{"error": {"code", "message", "detail"}}``. Places are found through the graph and not by line, so that they
follow a program that has only moved since its run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepcore.diagnostics import Diagnostic, Related, Severity
from stepcore.ide.analysis import Analysis, Unit
from stepcore.ir import Graph
from stepcore.span import Span


@dataclass(frozen=True, slots=True)
class ComponentView:
    """One tensor of a stream after a run: ``shape`` outermost first, ``values`` the first ones in row-major order.

    Numbers that JSON has no word for are the texts "nan", "inf" and "-inf"; ``minimum``, ``maximum`` and ``mean`` are
    over the finite values and None where there are none.
    """

    dtype: str
    shape: tuple[int, ...]
    values: tuple[float | str, ...]
    minimum: float | None
    maximum: float | None
    mean: float | None
    nan: int
    infinite: int


@dataclass(frozen=True, slots=True)
class StreamView:
    """One stream after a run: ``shape`` symbolic, ``sizes`` bound, both innermost first; ``bytes`` None if unknown."""

    name: str
    element: str
    shape: tuple[str, ...]
    sizes: tuple[int, ...]
    bytes: int | None
    components: tuple[ComponentView, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """What the last run of a program left behind. ``streams`` are those of the graph, in its order."""

    program: str
    seconds: float
    dims: dict[str, int]
    streams: tuple[StreamView, ...]
    operator_seconds: tuple[float, ...]

    def stream(self, graph: Graph, index: int) -> StreamView | None:
        """Return the values of stream ``index`` of ``graph``; None where the run was that of another program."""
        if len(graph.streams) != len(self.streams) or not 0 <= index < len(self.streams):
            return None
        found = self.streams[index]
        return found if found.name == graph.streams[index].name else None


def run_view(job_result: Mapping[str, Any]) -> RunView | None:
    """Return the values of a run; None where the job failed."""
    if "error" in job_result:
        return None
    return RunView(
        job_result["program"],
        job_result["seconds"],
        dict(job_result["dims"]),
        tuple(_stream(row) for row in job_result["streams"]),
        tuple(row["seconds"] for row in job_result["operators"]),
    )


def _stream(row: Mapping[str, Any]) -> StreamView:
    components = tuple(_component(part) for part in row["components"])
    return StreamView(
        row["name"], row["type"], tuple(row["shape"]), tuple(row["sizes"]), row["bytes"]["bound"], components
    )


def _component(part: Mapping[str, Any]) -> ComponentView:
    return ComponentView(
        part["dtype"],
        tuple(part["shape"]),
        tuple(part["values"]),
        part["min"],
        part["max"],
        part["mean"],
        part["nan"],
        part["infinite"],
    )


def run_diagnostics(analysis: Analysis, program: str, job_result: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the findings of a run, in positions of ``analysis``; none where the program is gone."""
    unit = analysis.program(program)
    if unit is None:
        return []
    error = job_result.get("error")
    found = _Places(unit).failure(error) if error is not None else _Places(unit).verdict(job_result.get("verdict"))
    moved = (unit.moved(item) for item in found)
    return [item for item in moved if item is not None]


def output_span(analysis: Analysis, program: str, output: int) -> Span | None:
    """Return where a program returns its output of this number, in positions of ``analysis``."""
    unit = analysis.program(program)
    spans = unit.checked.graph.return_spans if unit is not None and unit.checked is not None else []
    return unit.to_document(spans[output]) if unit is not None and output < len(spans) else None


class _Places:
    """Findings of one run, in positions of the unit."""

    def __init__(self, unit: Unit) -> None:
        checked = unit.checked
        assert checked is not None
        self.name = checked.name
        self.graph = checked.graph
        self.head = _head(unit)

    def failure(self, error: Mapping[str, Any]) -> list[Diagnostic]:
        """Findings of a job that ended with an error: at the operator that failed, else at the program's name."""
        node = (error.get("detail") or {}).get("node")
        span = self.head
        if isinstance(node, int) and 0 <= node < len(self.graph.nodes):
            span = self.graph.nodes[node].op_span
        return [Diagnostic(error["code"], span, f"simulation: {error['message']}", program=self.name)]

    def verdict(self, verdict: Mapping[str, Any] | None) -> list[Diagnostic]:
        """Findings of a run that was compared with its reference."""
        if verdict is None:
            return []
        if verdict["functional"]["ok"]:
            return self._untested(verdict.get("untested"))
        functional, mismatch, origin = verdict["functional"], verdict["mismatch"], verdict["nan_origin"]
        output = self.head if mismatch is None else self._output(mismatch["output"])
        # With a place the detail begins with the output that differs.
        text = functional["detail"] if mismatch is not None else f"differs from the reference: {functional['detail']}"
        if origin is None:
            return [Diagnostic(functional["code"] or "STEP401", output, text, program=self.name)]
        text = f"{origin['kind']} first appears here, in {origin['stream']}, although the inputs have none"
        reach = (Related(output, mismatch_text(mismatch)),) if mismatch is not None else ()
        return [Diagnostic("STEP403", self._origin(origin), text, related=reach, program=self.name)]

    def _untested(self, untested: Mapping[str, Any] | None) -> list[Diagnostic]:
        if untested is None:
            return []
        return [Diagnostic(untested["code"], self.head, untested["note"], Severity.WARNING, program=self.name)]

    def _output(self, number: int) -> Span:
        spans = self.graph.return_spans
        return spans[number] if number < len(spans) else self.head

    def _origin(self, origin: Mapping[str, Any]) -> Span:
        graph = self.graph
        for node in graph.nodes:
            if node.op_name == origin["operator"] and any(
                graph.streams[index].name == origin["stream"] for index in node.outputs
            ):
                return node.op_span
        return self.head


def mismatch_text(mismatch: Mapping[str, Any]) -> str:
    """Say where a result first differs: ``output 0 at [2, 3]: expected 1.5, got 0``."""
    index = ", ".join(map(str, mismatch["index"]))
    component = f", component {mismatch['component']}" if mismatch["component"] else ""
    expected, got = number_text(mismatch["expected"]), number_text(mismatch["got"])
    return f"output {mismatch['output']}{component} at [{index}]: expected {expected}, got {got}"


def number_text(number: float | str) -> str:
    """Return a number of a run with six digits; NaN and infinities as they are."""
    return number if isinstance(number, str) else f"{number:.6g}"


def _head(unit: Unit) -> Span:
    """Return where a finding on the whole program stands: its name."""
    checked = unit.checked
    assert checked is not None
    span = checked.spec.span
    return span if span.end > span.start else Span(checked.span.start, checked.span.start)
