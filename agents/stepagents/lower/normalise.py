"""The graph of a traced function as tensor values; what has no lowering is collected, with its source line."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stepagents.lower.affine import BoundSizes, NotAffine
from stepagents.lower.aten import (  # noqa: F401  they register what they know
    folds,
    index,
    loops,
    pointwise,
    products,
    resample,
    views,
)
from stepagents.lower.aten.calls import (
    HANDLERS,
    Call,
    CannotLower,
    LoweringWorld,
    Results,
    dtype_name,
    fixed_tensor,
    source_line,
    uniform,
)
from stepagents.lower.layouts import MOST_VALUES
from stepagents.lower.values import (
    Literal,
    Source,
    Value,
    is_folded,
    parts_of,
)
from stepagents.traced.graph import needed, opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim, DimError

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction, TracedInput


class Unlowered(Record):
    """One operation that cannot be lowered: where it stands, why, and what to do."""

    line: tuple[str, int] | None
    operation: str
    reason: str
    advice: str = ""


@dataclass(slots=True)
class Normalised:
    """The results of a function as values, or what stands in the way. ``constants`` are tensors by source name."""

    results: list[Value] = field(default_factory=list)
    items: list[Unlowered] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)


class _Missing(Exception):
    """An argument that could not be lowered itself: it was reported already."""


def normalise(traced: TracedFunction, sizes: BoundSizes) -> Normalised:
    """Return the results of ``traced`` as values."""
    found = Normalised()
    nodes = list(traced.graph.graph.nodes)
    infinite = any("inf" in str(node.args) for node in nodes)
    world = LoweringWorld(sizes, infinite)
    values: dict[Node, Results] = {}
    wanted = needed(traced.graph.graph)
    inputs = {item.name: item for item in traced.inputs}
    by_name: dict[str, Results] = {}
    unread: dict[Node, Unlowered] = {}  # of what depends on no input: no fault where only such things read it
    for node in nodes:
        if node.op == "placeholder" and node.name in inputs:
            values[node] = by_name[node.name] = _given(inputs[node.name])
        elif node.op == "call_function" and node in wanted:
            try:
                values[node] = by_name[node.name] = _lowered(node, values, world)
            except _Missing:
                found.items += [unread.pop(each) for each in node.all_input_nodes if each in unread]
            except (CannotLower, NotAffine, DimError) as error:
                item = Unlowered(source_line(node), operation_name(node), str(error), getattr(error, "advice", ""))
                if fixed_tensor(node) is None:
                    found.items.append(item)
                else:
                    unread[node] = item
    results = {output.node for output in traced.outputs}
    found.items += [item for node, item in unread.items() if node.name in results]
    if not found.items:
        found.results = [result for output in traced.outputs if isinstance(result := by_name.get(output.node), Value)]
        if len(found.results) < len(traced.outputs):
            found.items.append(Unlowered(None, "return", "a result is not a tensor of the graph"))
    found.constants = world.constants
    return found


def item_for(traced: TracedFunction, error: NotAffine) -> Unlowered:
    """Return an item about the node that ``error`` is about, or about the whole function."""
    for node in traced.graph.graph.nodes:
        if node.name == error.origin:
            return Unlowered(source_line(node), operation_name(node), str(error), error.advice)
    return Unlowered((traced.path, traced.line), traced.name, str(error), error.advice)


def _lowered(node: Node, values: dict[Node, Results], world: LoweringWorld) -> Results:
    tensor = fixed_tensor(node)
    if any(argument not in values for argument in node.all_input_nodes):
        if tensor is None:
            raise _Missing
        return _named(_constant(node, tensor, world), node.name)
    if node.target is operator.getitem:
        base: Any = values[node.all_input_nodes[0]]
        return base[node.args[1]]  # type: ignore[no-any-return]
    handler = HANDLERS.get(opname(node))
    if tensor is not None and (handler is None or uniform(tensor) is not None):
        return _named(_constant(node, tensor, world), node.name)
    if handler is None:
        raise CannotLower("no lowering is known for this operation", "write it with operations that have one")
    found = handler(Call(node, values, world))
    if tensor is not None and isinstance(found, Value) and tensor.numel() <= MOST_VALUES and is_folded(found):
        # Reading it from the host is less.
        found = world.constant(node.name, tensor)
    return _named(found, node.name)


def _constant(node: Node, tensor: Any, world: LoweringWorld) -> Value:
    """Return what depends on no input by its numbers, however they came about."""
    text = uniform(tensor)
    shape, dtype = tuple(map(Dim.of, tensor.shape)), dtype_name(tensor.dtype)
    return world.constant(node.name, tensor) if text is None else Literal(shape, dtype, text)


def _given(item: TracedInput) -> Value:
    """Return what the host streams in, or the number that a constant is everywhere."""
    text = uniform(item.value) if item.kind == "constant" and item.value is not None else None
    return Source(item.dims, item.dtype, item.name) if text is None else Literal(item.dims, item.dtype, text)


def _named(result: Results, name: str) -> Results:
    """Say of all that was made for a node that it is from there: what its arguments are is said already."""
    stack: list[Value] = list(result) if isinstance(result, tuple) else [result]
    while stack:
        value = stack.pop()
        if not isinstance(value, Source) and not value.origin:
            value.origin = name
            stack += parts_of(value)
    return result


def operation_name(node: Node) -> str:
    """Return the operation as ``aten.NAME``."""
    target: Any = node.target
    return f"aten.{target._opname}" if hasattr(target, "_opname") else str(getattr(target, "__name__", target))
