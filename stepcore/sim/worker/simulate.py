"""The job ``simulate``: run one program and describe every stream and operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import torch
from torch import Tensor

from stepcore.costs.metrics import Metrics, Quantity, StreamMetrics, measure
from stepcore.findings.codes import Outcome, about, faults
from stepcore.findings.diagnostics import Severity
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Verdict, finite, number_json
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.jobdata.programs import (
    ArrivalRow,
    ComponentRow,
    Decided,
    MetricsRow,
    OperatorRow,
    OperatorsDone,
    QuantityRow,
    SimulateRequest,
    SimulateResult,
    StreamRow,
    VerdictRow,
)
from stepcore.jobs import Context, JobError
from stepcore.sim.arrival_ops import ArrivalOrder
from stepcore.sim.decided import decided_by_data
from stepcore.sim.functional import Run, Session
from stepcore.sim.nested import values_of
from stepcore.sim.ragged import StreamData
from stepcore.sim.worker.imports import reads
from stepcore.sim.worker.tasks import Candidate, candidates, checked_file, position, unusable, use_threads
from stepcore.sim.worker.verify import arrival_of, row
from stepcore.types import components as components_of
from stepcore.types import dtype_of, shape_text, tensor_shapes

_REPEAT_BELOW: Final = 2.0  # seconds


def simulate(request: SimulateRequest, context: Context) -> SimulateResult:
    """Run one program; tell the verdict on it as soon as it is decided.

    Raises:
        JobError: there is not exactly one program, or it has errors.
        SimError: it fails while running.
    """
    found = candidates(request)
    if len(found) > 1:
        names = ", ".join(candidate.name for candidate in found)
        text = f"this file has several programs; choose one with FILE::PROGRAM: {names}"
        raise JobError("STEP910", f"{text}{_of_compositions(request)}")
    candidate = found[0]
    errors = [d for d in candidate.checked.diagnostics if d.severity is Severity.ERROR]
    blocking = faults(errors)
    if candidate.faults:
        raise unusable(candidate.declarations, candidate.faults, "")
    if blocking or not candidate.checked.runnable:
        undecided = candidate.checked.undecided
        if not blocking and undecided is not None:
            blocking = [undecided]
        raise unusable(candidate.source, blocking, "the program has errors: run `stepsmith check`")
    candidate.session.order = _order(request)
    try:
        return _simulated(request, candidate, [error.message for error in errors], context)
    finally:
        candidate.session.order = None  # the session of a task is kept


def _order(request: SimulateRequest) -> ArrivalOrder | None:
    return ArrivalOrder({int(node): row for node, row in request.order.items()}) if request.order else None


def _simulated(
    request: SimulateRequest, candidate: Candidate, warnings: Sequence[str], context: Context
) -> SimulateResult:
    graph = candidate.checked.typed
    use_threads(candidate.session)
    if request.settling and any(node.op.by_arrival() for node in graph.nodes):
        return _settling(request, candidate, warnings, context)
    decided = candidate.decide()
    is_compared = decided.functional.ok or about(decided.functional.code).outcome is Outcome.DIFFERENT
    if is_compared:  # who looks at a program waits for this, and for nothing that comes now
        context.progress(Decided(_row(candidate, request.path, decided), reads(candidate.opened)))
    run, seconds = _run(candidate.session, graph, context)
    if not is_compared and sum(seconds) < _REPEAT_BELOW:  # the first run also compiles the functions
        run, seconds = _run(candidate.session, graph, context)
    arrival = arrival_of(candidate, decided, run)
    told = _told(request, candidate, warnings, run, seconds)
    return replace(told, verdict=_verdict(candidate, request.path, decided, arrival), arrival=arrival)


def _settling(
    request: SimulateRequest, candidate: Candidate, warnings: Sequence[str], context: Context
) -> SimulateResult:
    """Run a program whose order of arrival may not be the last, for timing: nothing is compared."""
    run, seconds = _run(candidate.session, candidate.checked.typed, context)
    return replace(_told(request, candidate, warnings, run, seconds), settling=True)


def _told(
    request: SimulateRequest, candidate: Candidate, warnings: Sequence[str], run: Run, seconds: Sequence[float]
) -> SimulateResult:
    """Return what a run did, without a verdict."""
    graph = candidate.checked.typed
    costs = measure(candidate.checked.spec, graph, candidate.session.bindings, run.measured_sizes(graph))
    count = request.values
    return SimulateResult(
        program=candidate.name,
        path=request.path,
        dims=candidate.session.bindings,
        seed=request.seed,
        seconds=sum(seconds),
        streams=tuple(_stream(graph, i, d, count, costs.streams[i]) for i, d in enumerate(run.streams)),
        operators=tuple(_operator(candidate, graph, node, seconds[node.index], costs) for node in graph.nodes),
        metrics=_metrics(costs),
        warnings=tuple(warnings),
        verdict=None,
        reads=reads(candidate.opened),
        **(_for_timing(graph, run) if request.selectors else {}),
    )


def _for_timing(graph: TypedGraph, run: Run) -> dict[str, Any]:
    """Return what timing follows of a run: selectors, levels and sizes; nothing where that is longer than it does."""
    decided = decided_by_data(graph, run)
    if decided is None:
        return {}
    return {
        "selectors": {str(index): tuple(rows) for index, rows in decided.rows.items()},
        "levels": {str(index): levels for index, levels in decided.levels.items()},
        "measured": decided.sizes,
    }


def _of_compositions(request: SimulateRequest) -> str:
    """Say what runs the compositions of a file, which no simulation does."""
    found = checked_file(request.text, request.path, request.affine).compositions
    names = ", ".join(composition.name for composition in found)
    return f"; `stepsmith verify` runs compositions as a whole ({names})" if found else ""


def _verdict(candidate: Candidate, path: str, decided: Verdict, arrival: tuple[ArrivalRow, ...]) -> VerdictRow | None:
    verdict = candidate.examine(decided)
    if about(verdict.functional.code).outcome is Outcome.NOT_COMPARED:
        return None
    return replace(_row(candidate, path, verdict), arrival=arrival)


def _row(candidate: Candidate, path: str, verdict: Verdict) -> VerdictRow:
    return row(path, candidate, verdict, verdict.seconds)


def _run(session: Session, graph: TypedGraph, context: Context) -> tuple[Run, list[float]]:
    """Run operator by operator, each to its end; return what each stream holds, and the seconds of each operator."""
    session.bounds.check(graph)
    seconds = [0.0] * len(graph.nodes)
    start = perf_counter()

    def observe(node: TypedNode, results: Sequence[StreamData]) -> None:
        nonlocal start
        for found in results:
            found.force()
        seconds[node.index] = perf_counter() - start
        _tell(context, node.index + 1, len(graph.nodes))
        start = perf_counter()

    _tell(context, 0, len(graph.nodes))
    try:
        return Run(*session.evaluated(graph, session.world, observe)), seconds
    except SimError as error:
        if error.node is not None:
            error.message = f"{graph.nodes[error.node].written}: {error.message}"
        raise


def _tell(context: Context, done: int, of: int) -> None:
    """Stop where the job was called off; tell how far it is, now and then."""
    if done < of:
        context.check()
        if done % 50 == 0:
            context.progress(OperatorsDone(done, of))


def _stream(graph: TypedGraph, index: int, data: StreamData, count: int, costs: StreamMetrics) -> StreamRow:
    stream = graph.streams[index]
    items = zip(components_of(stream.type.element), tensor_shapes(stream.type), data.dense(), strict=True)
    return StreamRow(
        name=stream.name,
        role="input" if index in graph.inputs else "output" if index in graph.returns else "stream",
        type=str(stream.type.element),
        shape=tuple(str(size) for size in stream.type.shape),
        sizes=tuple(size if isinstance(size, int) else size.most for size in data.sizes),
        bytes=_quantity(costs.bytes),
        components=tuple(_component(dtype_of(item), values_of(tensor), count) for item, _shape, tensor in items),
    )


def _component(dtype: str, tensor: Tensor, count: int) -> ComponentRow:
    """Describe one tensor, or all lists behind each other; statistics are over finite values."""
    first = _first(tensor, count).to(torch.float64 if tensor.is_floating_point() else torch.int64)
    nan = infinite = 0
    numbers = tensor.to(torch.float64)
    is_finite = torch.isfinite(numbers)
    if not bool(is_finite.all()):
        nan = int(torch.isnan(numbers).sum())
        infinite = int(torch.isinf(numbers).sum())
        numbers = numbers[is_finite]
    some = bool(numbers.numel())
    return ComponentRow(
        dtype=dtype,
        shape=tuple(tensor.shape),
        values=tuple(number_json(value) for value in first.tolist()),
        min=finite(float(numbers.min())) if some else None,
        max=finite(float(numbers.max())) if some else None,
        mean=finite(float(numbers.mean())) if some else None,
        nan=nan,
        infinite=infinite,
    )


def _first(tensor: Tensor, count: int) -> Tensor:
    """Return the first values in row-major order without copying a large expanded tensor."""
    while tensor.dim() > 1 and tensor[:1].numel() >= count > 0:
        tensor = tensor[0]
    return tensor.reshape(-1)[:count]


def _operator(candidate: Candidate, graph: TypedGraph, node: TypedNode, seconds: float, costs: Metrics) -> OperatorRow:
    line, _column = position(candidate.source, node.span)
    own = costs.nodes[node.index]
    return OperatorRow(
        operator=node.written,
        parameters={name: _parameter(value) for name, value in node.op.param_values().items() if value is not None},
        inputs=tuple(graph.streams[i].name for i in node.inputs),
        outputs=tuple(graph.streams[i].name for i in node.outputs),
        shapes=tuple(shape_text(graph.streams[i].type.shape) for i in node.outputs),
        line=line,
        seconds=seconds,
        on_chip=_quantity(own.on_chip),
        flops=_quantity(own.flops),
    )


def _parameter(value: Any) -> str | tuple[str, ...]:
    name = getattr(value, "func_name", None)
    if name is not None:
        return str(name)
    return tuple(str(item) for item in value) if isinstance(value, tuple | list) else str(value)


def _metrics(costs: Metrics) -> MetricsRow:
    return MetricsRow(
        off_chip_traffic=_quantity(costs.off_chip),
        on_chip_requirement=_quantity(costs.on_chip),
        flops=_quantity(costs.flops),
        operational_intensity=costs.intensity,
        streaming_degree=costs.streaming_degree,
        compulsory_traffic=_quantity(costs.compulsory),
        traffic_ratio=costs.traffic_ratio,
        useful_flops=costs.useful_flops,
    )


def _quantity(quantity: Quantity) -> QuantityRow:
    symbolic = quantity.symbolic
    return QuantityRow(None if symbolic is None else str(symbolic), quantity.value)
