"""One layer as a traced function of its own, and the key by which equal layers are known. Loads torch."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from stepagents.torchfn.dims import RESERVED
from stepagents.torchfn.loop_ops import END, ITEM, STATE
from stepagents.torchfn.partition import Layer, rounds_of
from stepagents.torchfn.subject import dtype_text
from stepagents.traced.graph import (
    DIMS,
    FIXED,
    LINES,
    SCALARS,
    SIZES,
    Path,
    TracedFunction,
    TracedInput,
    TracedOutput,
    free_name,
    opname,
)
from stepcore.records import Record

# What users call the operations that the graph calls in another way.
_KNOWN_AS: Final[Mapping[str, str]] = {
    "mm": "linear", "addmm": "linear", "bmm": "matmul", "baddbmm": "matmul", "_softmax": "softmax",
    "_safe_softmax": "softmax", "_log_softmax": "log_softmax", "native_layer_norm": "layer_norm",
    "native_group_norm": "group_norm", "native_batch_norm": "batch_norm", "_native_batch_norm_legit": "batch_norm",
    "_native_batch_norm_legit_no_training": "batch_norm", "max_pool2d_with_indices": "max_pool2d",
    "_adaptive_avg_pool2d": "avg_pool2d", "_to_copy": "to", "loop_end": "loop",
}  # fmt: skip
_MOST_WORDS: Final = 3  # of a name


def layer_key(layer: Layer, traced: TracedFunction) -> str:
    """Return what two layers share when one program does for both: everything but names and values of inputs."""
    inputs = {item.name: item for item in traced.inputs}
    places: dict[Node, str] = {node: f"i{place}" for place, node in enumerate(layer.inputs)}
    parts: list[str] = []
    for node in layer.inputs:
        known = inputs.get(node.name)
        kind = ("torch.randn", None) if known is None else (known.data_gen, known.below)  # as layer_function draws
        parts.append(f"{_dims(node)} {_dtype(node)} {kind}")
    for place, node in enumerate(layer.nodes):
        places[node] = f"n{place}"
        if node.op == "placeholder":
            parts.append(_hashed(inputs[node.name].value))
            continue
        arguments = torch.fx.map_arg((node.args, node.kwargs), lambda each: _Place(places[each]))
        fixed = node.meta.get(FIXED)
        parts += [
            f"{node.target} {arguments} {_dims(node)} {_dtype(node)}",
            f"{node.meta.get(SIZES)} {node.meta.get(SCALARS)} {_hashed(fixed)}",
        ]
    parts += [places[node] for node in layer.outputs]
    return "\n".join(parts)


class _Place(str):
    """A node by its place, printed without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _dims(node: Node) -> str:
    return str(node.meta.get(DIMS))


def _dtype(node: Node) -> str:
    value = node.meta.get("val")
    return str([each.dtype for each in value] if isinstance(value, (list, tuple)) else getattr(value, "dtype", ""))


def _hashed(value: Any) -> str:
    if not isinstance(value, Tensor):
        return ""
    data = value.detach().contiguous()
    content = data.view(torch.uint8) if data.dim() else data.reshape(1).view(torch.uint8)
    return f"{data.dtype}{tuple(data.shape)}{hashlib.sha256(content.numpy().tobytes()).hexdigest()}"


def layer_name(layer: Layer) -> str:
    """Return what people would call the layer, such as ``convolution_relu``."""
    words: list[str] = []
    for node in layer.nodes:
        name = opname(node)
        known = _KNOWN_AS.get(name, name).strip("_")
        if name and FIXED not in node.meta and (len(layer.nodes) == 1 or known not in {*words, *_SILENT}):
            words.append(known)
    return "_".join(words[:_MOST_WORDS]) or "layer"


_SILENT: Final = frozenset({
    "view", "unsafe_view", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "slice", "select", "clone",
    "alias", "detach", "split_with_sizes", "unbind", "to", "loop_state", "loop_item",
})  # fmt: skip


def layer_function(layer: Layer, traced: TracedFunction, name: str) -> TracedFunction:
    """Return the layer as a function of the tensors that it reads, in their order."""
    known = {item.name: item for item in traced.inputs}
    graph = Graph()
    taken = {*RESERVED, *traced.dims}
    copies: dict[Node, Node] = {}
    inputs: list[TracedInput] = []
    for node in layer.inputs:
        own = copies[node] = _placeholder(graph, _input_name(known.get(node.name)), taken, node)
        inputs.append(_input(node, own.name, known.get(node.name)))
    for node in layer.nodes:
        if node.op == "placeholder":
            own = copies[node] = _placeholder(graph, "constant", taken, node)
            item = known[node.name]
            inputs.append(TracedInput(own.name, item.dims, item.dtype, "constant", item.value, own.name))
            continue
        copies[node] = graph.node_copy(node, copies.__getitem__)
        base = opname(node).strip("_") or "item"
        copies[node]._rename(_named(base, taken))
    graph.output(tuple(copies[node] for node in layer.outputs))
    outputs = tuple(
        TracedOutput(copies[node].name, node.meta[DIMS], dtype_text(node.meta["val"].dtype)) for node in layer.outputs
    )
    shapes = [*(item.dims for item in inputs), *(item.dims for item in outputs)]
    symbols = {each for shape in shapes for size in shape for each in size.symbols()}
    symbols |= {each for node in layer.nodes for size in node.meta.get(SIZES, {}).values() for each in size.symbols()}
    line = next((place[1] for node in layer.nodes if (place := node.meta.get(LINES)) is not None), traced.line)
    module = GraphModule(torch.nn.Module(), graph)
    return TracedFunction(
        name=name,
        path=traced.path,
        line=line,
        inputs=tuple(inputs),
        outputs=outputs,
        graph=module,
        dims={symbol: size for symbol, size in traced.dims.items() if symbol in symbols},
        reference=GraphReference(graph, traced.dims),
        bound={symbol: size for symbol, size in traced.bound.items() if symbol in symbols},
        multiples={symbol: size for symbol, size in traced.multiples.items() if symbol in symbols},
    )


def _placeholder(graph: Graph, base: str, taken: set[str], node: Node) -> Node:
    """Add an input; its name is what the graph makes of ``base``, which keeps some names for itself (``max``)."""
    found = graph.placeholder("input")
    found._rename(_named(base, taken))
    found.target = found.name
    taken.add(found.name)
    found.meta = dict(node.meta)
    return found


def _named(base: str, taken: set[str]) -> str:
    base = base if base.isidentifier() else f"x_{base}"
    name = free_name(base, taken)
    taken.add(name)
    return name


def _input_name(item: TracedInput | None) -> str:
    """Weights are called like their attribute, tensors between layers x."""
    return item.origin.rpartition(".")[2] or "x" if item is not None and item.kind == "weight" else "x"


def _input(node: Node, name: str, item: TracedInput | None) -> TracedInput:
    if item is None:
        return TracedInput(name, node.meta[DIMS], dtype_text(node.meta["val"].dtype), origin=name)
    return TracedInput(name, item.dims, item.dtype, origin=name, data_gen=item.data_gen, below=item.below)


class GraphReference(Record):
    """Runs a traced graph at ``sizes``: ``reference(*tensors)`` returns a tuple of tensors.

    Numbers that stand in the graph for sizes become those of ``sizes``; floating-point types are those of torch's
    default where that is fp64. The round of a loop over time (:mod:`loop_ops`) runs as often as its end says.
    """

    graph: Graph
    sizes: Mapping[str, int]

    def at(self, sizes: Mapping[str, int]) -> GraphReference:
        """Return the same graph at other sizes."""
        return GraphReference(self.graph, {**self.sizes, **sizes})

    def __call__(self, *tensors: Tensor, **_weights: Tensor) -> tuple[Tensor, ...]:
        """Run the graph without gradients."""
        given = iter(tensors)
        values: dict[Node, Any] = {}
        rounds = rounds_of(self.graph.nodes)
        bodies: dict[Node, list[Node]] = {}
        with torch.no_grad():
            for node in self.graph.nodes:
                if node.op == "output":
                    return tuple(values[each] for each in node.args[0])
                if node.op == "placeholder":
                    values[node] = next(given)
                elif node.target is END:
                    values[node] = self._looped(node, bodies[node], values)
                elif node in rounds:
                    bodies.setdefault(rounds[node], []).append(node)
                else:
                    values[node] = self._called(node, values)
        raise AssertionError("a graph ends with its output")

    def _looped(self, end: Node, body: Sequence[Node], values: Mapping[Node, Any]) -> list[Tensor]:
        """Run all rounds of a loop; return the last states, then what is kept of all rounds."""
        args: Any = end.args
        count, states, updates, results = args
        count = self._numbers(end).get((0,), count)
        before = {state: values[state.args[0]] for state in states}
        kept: list[list[Tensor]] = [[] for _ in results]
        for turn in range(count):
            own = {**values, **before}
            for node in body:
                if node.target is not STATE:
                    own[node] = self._called(node, own, turn)
            before = {state: own[update] for state, update in zip(states, updates, strict=True)}
            for found, result in zip(kept, results, strict=True):
                found.append(own[result])
        return [*before.values(), *map(torch.stack, kept)]

    def _called(self, node: Node, values: Mapping[Node, Any], turn: int = 0) -> Any:
        """Return the result of one call, in round ``turn`` of a loop, counted from 0."""
        args: Any = torch.fx.map_arg(node.args, values.__getitem__)
        kwargs: Any = torch.fx.map_arg(node.kwargs, values.__getitem__)
        for (first, *rest), number in self._numbers(node).items():
            if isinstance(first, str):
                kwargs = {**kwargs, first: _with(kwargs[first], rest, number)}
            else:
                args = tuple(_with(args, [first, *rest], number))
        target: Any = node.target
        if target is operator.getitem:
            return args[0][args[1]]
        if target is ITEM:
            base, dim, start, step = args
            return base.select(dim, start + step * turn)
        dtype = kwargs.get("dtype")
        if torch.get_default_dtype() == torch.float64 and isinstance(dtype, torch.dtype) and dtype.is_floating_point:
            kwargs = {**kwargs, "dtype": torch.float64}
        return target(*args, **kwargs)

    def _numbers(self, node: Node) -> dict[Path, int]:
        return {path: size.bind(self.sizes) for path, size in node.meta.get(SIZES, {}).items()}


def _with(value: Any, path: Sequence[Any], number: Any) -> list[Any] | Any:
    """Return ``value`` with ``number`` at ``path``."""
    if not path:
        return number
    items = list(value)
    items[path[0]] = _with(items[path[0]], path[1:], number)
    return items
