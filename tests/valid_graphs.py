"""What a valid graph is, as a specification that can be run: each rule yields how a graph breaks it.

A graph that only elaboration made keeps the rules of :func:`stepcore.graph.typed.faults` and of its operators; one that
was checked and is complete also those of types, and one that is affine that of consumption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from stepcore.check.programs import Checked
from stepcore.findings.diagnostics import Severity
from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import Graph
from stepcore.graph.typed import TypedGraph, faults
from stepcore.ops import BY_NAME
from stepcore.ops.base import Operand, ParamKind, TypingContext
from stepcore.ops.counting import CountFn
from stepcore.types import takes_any

_EXACT: Final[Mapping[ParamKind, type | tuple[type, ...]]] = {
    ParamKind.FN: (FnDecl, CountFn), ParamKind.INDICES: tuple,
}  # fmt: skip


def operators(graph: Graph | TypedGraph) -> Iterator[str]:
    """Every operator is one of the language under its own name, with canonical parameters, and has its results."""
    for node in graph.nodes:
        op = node.op
        if op is None:
            yield f"node {node.index} has no operator"
            continue
        if BY_NAME.get(node.op_name) is not type(op) or BY_NAME.get(node.written) is not type(op):
            yield f"{node.written} is no name of {type(op).__name__}"
        if node.params and {**op.calling.defaults, **node.params} != {**op.param_values(), **_declared(node.params)}:
            yield f"{node.written} says one thing twice: {node.params} and {op.param_values()}"
        for param, value in zip(op.calling.params, op.param_values().values(), strict=True):
            exact = _EXACT.get(param.kind, object)
            is_left_out = value is None and op.calling.is_default(param.name, value)
            if not is_left_out and (not param.kind.accepts(value) or not isinstance(value, exact)):
                yield f"{param.name} of {node.written} is {value!r}"
        outputs = op.outputs.of(op.param_values())
        wanted = outputs.count(op.param_values().get(outputs.counted_by, 0))
        if len(node.outputs) != wanted:
            yield f"{node.written} has {len(node.outputs)} results"


def _declared(params: dict[str, object]) -> dict[str, object]:
    """Functions of any size: the operator has what one is in its use, the parameters what was declared."""
    return {name: value for name, value in params.items() if isinstance(value, FnDecl) and takes_any(value.input)}


def types(graph: TypedGraph, bindings: dict[str, int]) -> Iterator[str]:
    """Every result has the type that its operator's rule gives it."""
    context = TypingContext(bindings)
    context.program = graph
    for node in graph.nodes:
        given = [Operand(graph.streams[index].type, stream=index) for index in node.inputs]
        found = tuple(graph.streams[index].type for index in node.outputs)
        context.making = node.outputs
        if node.op.infer(given, context) != found:
            yield f"{node.written} cannot have results of the types {', '.join(map(str, found))}"


def consumption(graph: Graph | TypedGraph) -> Iterator[str]:
    """No stream is consumed twice."""
    uses = Counter([*(index for node in graph.nodes for index in node.inputs), *graph.returns])
    yield from (f"stream {index} is consumed {count} times" for index, count in uses.items() if count > 1)


def assert_built(graph: Graph) -> None:
    """The graph keeps the rules that need no types."""
    assert [*faults(graph), *operators(graph)] == []


def assert_valid(checked: Checked) -> None:
    """The graph of a program is valid as far as its findings promise; one without errors is so in all."""
    graph = checked.graph
    errors = {item.code for item in checked.diagnostics if item.severity is Severity.ERROR}
    assert checked.runnable or errors, "nothing says why this program is not complete"
    if not checked.runnable:
        return
    assert_built(graph)
    typed, bindings = checked.typed, dict(checked.spec.bindings())
    assert list(types(typed, bindings)) == []
    assert (list(consumption(typed)) == []) == (checked.affine_count == 0)
    outputs = checked.spec.outputs
    if outputs is not None and not errors & {"STEP213", "STEP214", "STEP215"}:
        returned = [output for output in outputs if not output.memory]
        assert [len(typed.streams[index].type.shape) for index in typed.returns] == [
            len(o.type.shape) for o in returned
        ]
