"""A traced function as a task for whoever composes programs: its tensors as streams, its operations as functions.

For functions of which an operation has no lowering. Elementwise operations become functions of numbers, reductions
accumulators, and everything else functions of the tiles that it works on: the trailing dimensions, whose sizes have to
be numbers. How many dimensions are the tile is not known for every operation, so each choice is a function of its
own; a wrong one is no danger, since programs are verified. Loads no torch by itself.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

from stepagents.lower.aten.calls import node_dtype
from stepagents.lower.emit import Emitted, source_port, specification, taken_names
from stepagents.lower.functions import fresh_name, heading
from stepagents.torchfn.transform import Unwritable, item_text, operation_text
from stepagents.traced.graph import FIXED, TracedFunction, TracedInput, first_dims, node_dims, size_text
from stepcore.fn.allow import POINTWISE
from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.graph.ir import OutputPort
from stepcore.graph.layouts import InputLayout, OutputLayout
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded
from stepcore.types import Buffer, Element, Scalar, StreamType, STuple

if TYPE_CHECKING:
    from torch.fx import Node

_MOST_NUMBERS: Final = 4096  # in a tile: more is the whole tensor at once
_MOST_FUNCTIONS: Final = 24
_ELEMENTWISE: Final = POINTWISE | {"gelu", "silu", "elu", "leaky_relu", "hardtanh", "hardswish", "softplus", "where"}
# Reductions that an accumulator does: how it starts, and what it does with the next number.
_FOLDS: Final[Mapping[str, tuple[float, str]]] = {
    "sum": (0.0, "state[0] + input[0]"),
    "mean": (0.0, "state[0] + input[0]"),
    "prod": (1.0, "state[0] * input[0]"),
    "amax": (float("-inf"), "torch.maximum(state[0], input[0])"),
}
_VIEWS: Final = frozenset({"permute", "expand", "unsqueeze", "squeeze", "view", "_unsafe_view", "alias", "clone"})


def extracted(traced: TracedFunction) -> Emitted:
    """Return the task without a program: every tensor streams in as it stands, every result out.

    Raises:
        Unwritable: an operation is not in the language of task files, or works on tiles without a fixed size.
    """
    taken = taken_names(traced.dims)
    read = [(item, fresh_name(item.name, taken)) for item in traced.inputs if item.kind != "constant"]
    inputs = [
        replace(
            source_port(name, _stream(item.dims, item.dtype), item.dtype, item.data_gen, item.below),
            layout=_layout(item),
        )
        for item, name in read
    ]
    outputs = [
        OutputPort(f"S{place}", _stream(each.dims, each.dtype), layout=_output_layout(each.dims))
        for place, each in enumerate(traced.outputs)
    ]
    return Emitted(specification(traced.name, inputs, list(_functions(traced, taken)), outputs, traced.dims), "")


def _stream(dims: Sequence[Dim], dtype: str) -> StreamType:
    return StreamType(Scalar(dtype), tuple(reversed(dims)) or (Dim.of(1),))


def _layout(item: TracedInput) -> InputLayout:
    rank = len(item.dims)
    ends = ((Dim.of(0), Dim.of(0)),) * rank
    return InputLayout(item.name, tuple(item.dims), (1,) * rank, ends, 0.0, None if rank else ())


def _output_layout(dims: Sequence[Dim]) -> OutputLayout:
    return OutputLayout(tuple(range(max(len(dims), 1))), (1,) * len(dims))


def _functions(traced: TracedFunction, taken: set[str]) -> Iterator[FnDecl]:
    known: set[tuple[str, str, str]] = set()
    for node in traced.graph.graph.nodes:
        if node.op != "call_function" or not node.all_input_nodes or _name(node) in _VIEWS:
            continue
        for fn in _of(node, taken):
            key = (fn.body.source.text, str(fn.input), str(fn.output))
            if key not in known:
                known.add(key)
                yield fn
        if len(known) > _MOST_FUNCTIONS:
            raise Unwritable(f"more than {_MOST_FUNCTIONS} functions would be needed")


def _name(node: Node) -> str:
    target: Any = node.target
    return "" if target is operator.getitem else str(target._opname)


def _of(node: Node, taken: set[str]) -> Iterator[FnDecl]:
    """Yield the functions that an operation is, or that it takes."""
    name = _name(node)
    if not name:  # one of several results: the function of the operation gives the first
        return
    dtype = node_dtype(node)
    if name in _ELEMENTWISE:
        yield _function(node, [Scalar(node_dtype(item)) for item in node.all_input_nodes], Scalar(dtype), taken)
    elif name in _FOLDS:
        init, update = _FOLDS[name]
        body = CodeBlock(Embedded.whole(f"return [{update}]"), ("state", "input"))
        yield FnDecl(fresh_name(f"fn_{name}", taken), heading(name), Scalar(dtype), Scalar(dtype), body, (init,))
        if name == "mean":
            yield _divided(node, dtype, taken)
    else:
        yield from _on_tiles(node, dtype, taken)


def _divided(node: Node, dtype: str, taken: set[str]) -> FnDecl:
    (base,) = node.all_input_nodes
    sizes = node_dims(base)
    dims: Any = node.args[1] if len(node.args) > 1 and node.args[1] else list(range(len(sizes)))
    count = " * ".join(size_text(sizes[place]) for place in dims)
    body = CodeBlock(Embedded.whole(f"return [input[0] / ({count})]"), ("input",))
    return FnDecl(fresh_name("fn_divide_by_count", taken), "DivideByCount", Scalar(dtype), Scalar(dtype), body)


def _on_tiles(node: Node, dtype: str, taken: set[str]) -> Iterator[FnDecl]:
    dims = first_dims(node)
    arguments = [tuple(node_dims(item)) for item in node.all_input_nodes]
    least = min(len(sizes) for sizes in arguments)
    found = False
    for batch in range(min(least, len(dims)), 0, -1):
        tiles = [sizes[batch:] for sizes in arguments]
        same = all(sizes[:batch] == tuple(dims[:batch]) for sizes in arguments)
        if not same or not all(_is_fixed(tile) for tile in (*tiles, dims[batch:])) or not any(tiles):
            continue
        found = True
        inputs = [_tile(node_dtype(item), tile) for item, tile in zip(node.all_input_nodes, tiles, strict=True)]
        yield _function(node, inputs, _tile(dtype, dims[batch:]), taken, max(map(len, arguments)))
    if not found:
        raise Unwritable(f"aten.{_name(node)} works on tiles without a fixed size")


def _is_fixed(tile: Sequence[Dim]) -> bool:
    sizes = [size.constant for size in tile]
    return None not in sizes and prod(size or 0 for size in sizes) <= _MOST_NUMBERS


def _tile(dtype: str, tile: Sequence[Dim]) -> Scalar | Buffer:
    return Buffer(Scalar(dtype), list(reversed(tile))) if tile else Scalar(dtype)


def _function(node: Node, inputs: Sequence[Scalar | Buffer], output: Element, taken: set[str], rank: int = 0) -> FnDecl:
    """Return the operation itself as a function of one number or tile of each tensor."""
    if any(FIXED in item.meta for item in node.all_input_nodes):
        raise Unwritable(f"aten.{_name(node)} takes a constant tensor")
    texts = {item: f"input[{place}]" for place, item in enumerate(node.all_input_nodes)}
    text = operation_text(node, texts, rank)
    if isinstance(node.meta["val"], (list, tuple)):
        text = item_text(node, 0, {node: text})
    body = CodeBlock(Embedded.whole(f"return [{text}]"), ("input",))
    whole: Element = inputs[0] if len(inputs) == 1 else STuple(inputs)
    name = _name(node).strip("_")
    return FnDecl(fresh_name(f"fn_{name}", taken), heading(name), whole, output, body)
