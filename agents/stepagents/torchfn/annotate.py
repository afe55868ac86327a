"""Writing on the nodes of a trace what its numbers mean: sizes as expressions, scalars too. Loads torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.fx import Graph, Node

from stepagents.torchfn.capture import Capture
from stepagents.torchfn.fit import fit_scalar, fit_size
from stepagents.torchfn.loop_ops import MARKS
from stepagents.traced.graph import DIMS, FIXED, SCALARS, SIZES, Path
from stepcore.sizes.dim import Dim

_LARGEST_FIXED: Final = 1 << 22  # elements


class TraceMismatch(Exception):
    """Traces at different sizes are no versions of one graph."""


def annotate(
    main: Capture, others: Sequence[Capture], bindings: Sequence[Mapping[str, int]], dims: Mapping[str, tuple[Dim, ...]]
) -> None:
    """Set DIMS, SIZES and SCALARS of all nodes of ``main``.

    ``bindings`` are the sizes of ``main`` and then of ``others``; ``dims`` the sizes of the user's tensors.

    Raises:
        TraceMismatch: the graphs differ in more than numbers, or a number follows no expression that we know.
    """
    columns = [list(item.graph.graph.nodes) for item in (main, *others)]
    if len({len(column) for column in columns}) != 1:
        raise TraceMismatch("another number of operations")
    kinds = {item.node: item for item in main.placeholders}
    annotator = _Annotator(bindings)
    position = [{node: index for index, node in enumerate(column)} for column in columns]
    for row in zip(*columns, strict=True):
        _check_same(row, position)
        node = row[0]
        if node.op == "placeholder":
            item = kinds[node.name]
            node.meta["step_user"] = item.kind == "user"
            node.meta[DIMS] = dims[item.origin] if item.kind == "user" else _numbers(row)
        elif node.op == "call_function":
            annotator.call(row)


def fold_fixed(graph: Graph, constants: Mapping[str, Tensor | None]) -> None:
    """Set FIXED on all nodes that depend on no argument and no weight, with their values."""
    known: dict[Node, Any] = {}
    for node in graph.nodes:
        if node.op == "placeholder" and constants.get(node.name) is not None:
            known[node] = constants[node.name]
        elif node.target in MARKS:  # what a round of a loop reads is not the same in all rounds
            continue
        elif node.op == "call_function" and all(item in known for item in node.all_input_nodes):
            if sum(value.numel() for value in _values(node)) > _LARGEST_FIXED:
                continue
            args = torch.fx.map_arg(node.args, known.__getitem__)
            kwargs = torch.fx.map_arg(node.kwargs, known.__getitem__)
            known[node] = node.meta[FIXED] = node.target(*args, **kwargs)


class _Annotator:
    """Fits numbers; equal columns of numbers have one expression."""

    def __init__(self, bindings: Sequence[Mapping[str, int]]) -> None:
        self._bindings = bindings
        self._known: dict[tuple[int, ...], Dim] = {}

    def call(self, row: Sequence[Node]) -> None:
        node = row[0]
        context = [size for item in node.all_input_nodes for size in _flat_dims(item)]
        steps = [value for _, value in _leaves(node) if type(value) is int]
        shapes = [_values(item) for item in row]
        if len({tuple(value.dim() for value in values) for values in shapes}) != 1:
            raise TraceMismatch("another rank")
        found = tuple(
            tuple(self._axis(tensors, axis, context, steps) for axis in range(tensors[0].dim()))
            for tensors in zip(*shapes, strict=True)
        )
        single = isinstance(node.meta.get("val"), Tensor)
        node.meta[DIMS] = found[0] if single else found
        sizes, scalars = {}, {}
        own = [*context, *(size for shape in found for size in shape)]
        for path, values in _arguments(row):
            if all(isinstance(value, int) for value in values):
                sizes[path] = self._size(values, own)
            else:
                scalars[path] = self._scalar([float(value) for value in values], own)
        if sizes:
            node.meta[SIZES] = sizes
        if scalars:
            node.meta[SCALARS] = scalars

    def _axis(self, tensors: Sequence[Tensor], axis: int, context: Sequence[Dim], steps: Sequence[int]) -> Dim:
        """Fit one size of a result; the same axis of an input is the likeliest origin."""
        values = [tensor.shape[axis] for tensor in tensors]
        if axis < len(context) and all(isinstance(value, int) for value in values):
            near = [context[axis].bind(sizes) for sizes in self._bindings]
            if near == values:
                return context[axis]
        return self._size(values, context, steps)

    def _size(self, values: Sequence[int], context: Sequence[Dim], steps: Sequence[int] = ()) -> Dim:
        if any(not isinstance(value, int) for value in values):
            raise TraceMismatch("a size that depends on data")
        key = tuple(values)
        if key not in self._known:
            fitted = fit_size(values, self._bindings, context, steps)
            if fitted is None:
                raise TraceMismatch(f"sizes {values} follow no expression")
            self._known[key] = fitted
        return self._known[key]

    def _scalar(self, values: Sequence[float], context: Sequence[Dim]) -> str:
        fitted = fit_scalar(values, self._bindings, context)
        if fitted is None:
            raise TraceMismatch(f"numbers {values} follow no expression")
        return fitted


def _numbers(row: Sequence[Node]) -> tuple[Dim, ...]:
    shapes = {tuple(value.shape) for node in row for value in _values(node)}
    if len(shapes) != 1:
        raise TraceMismatch("a weight of another shape")
    return tuple(Dim.of(size) for size in shapes.pop())


def _flat_dims(node: Node) -> list[Dim]:
    found = node.meta.get(DIMS, ())
    return [size for item in found for size in (item if isinstance(item, tuple) else (item,))]


def _values(node: Node) -> list[Tensor]:
    value = node.meta.get("val")
    if isinstance(value, Tensor):
        return [value]
    return [item for item in value if isinstance(item, Tensor)] if isinstance(value, (tuple, list)) else []


def _check_same(row: Sequence[Node], position: Sequence[Mapping[Node, int]]) -> None:
    first = row[0]
    wanted = [position[0][item] for item in first.all_input_nodes]
    for index, node in enumerate(row[1:], start=1):
        found = [position[index][item] for item in node.all_input_nodes]
        if (node.op, str(node.target) if node.op != "placeholder" else "") != (
            first.op,
            str(first.target) if first.op != "placeholder" else "",
        ) or found != wanted:
            raise TraceMismatch(f"{first.name} and {node.name} differ")


def _arguments(row: Sequence[Node]) -> Iterator[tuple[Path, list[Any]]]:
    """Yield the path and the values of each number among the arguments that is not the same in all traces."""
    leaves = [dict(_leaves(node)) for node in row]
    if any(item.keys() != leaves[0].keys() for item in leaves):
        raise TraceMismatch(f"the arguments of {row[0].name} differ")
    for path, value in leaves[0].items():
        values = [item[path] for item in leaves]
        if isinstance(value, Node) or all(_same(item, value) for item in values):
            continue
        if any(isinstance(item, bool) or not isinstance(item, (int, float)) for item in values):
            raise TraceMismatch(f"the arguments of {row[0].name} differ")
        yield path, values


def _same(left: Any, right: Any) -> bool:
    """Return whether two arguments are equal; NaN is equal to itself."""
    return type(left) is type(right) and (left == right or repr(left) == repr(right) == "nan")


def _leaves(node: Node) -> Iterator[tuple[Path, Any]]:
    for index, value in enumerate(node.args):
        yield from _inside((index,), value)
    for name, value in node.kwargs.items():
        yield from _inside((name,), value)


def _inside(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _inside((*path, index), item)
    else:
        yield path, value
