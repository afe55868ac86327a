"""Traces a plain function or module at given tensors, all sizes as numbers: enough to test the lowering alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from stepagents.traced.data import CheckData
from stepagents.traced.graph import DIMS, SIZES, Kind, TracedFunction, TracedInput, TracedOutput
from stepcore.sizes.dim import Dim

DTYPES = {
    torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.int32: "int32", torch.int64: "int64",
    torch.bool: "bool",
}  # fmt: skip


def trace(
    function: Any,
    args: Sequence[Tensor],
    name: str = "function",
    sizes: Mapping[str, int] | None = None,
    fitted: Callable[[int], str | None] = lambda _size: None,
) -> TracedFunction:
    """Return ``function`` traced at ``args``.

    ``sizes`` names numbers that are sizes wherever they occur; ``fitted`` knows sums such as ``S + T``.
    """
    module = function if isinstance(function, torch.nn.Module) else _Wrapped(function)
    names = _Names(sizes or {}, fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(module, tuple(args), strict=False).run_decompositions()
    graph = exported.graph_module
    state: dict[Any, Any] = {**exported.state_dict, **exported.constants}
    inputs: list[TracedInput] = []
    users = iter(args)
    specs = {spec.arg.name: spec for spec in exported.graph_signature.input_specs}
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            spec = specs[node.name]
            if spec.kind.name == "TOKEN" or (spec.kind.name != "USER_INPUT" and spec.target is None):
                continue
            weight = None if spec.kind.name == "USER_INPUT" else state[spec.target]
            tensor = next(users) if weight is None else weight
            if not isinstance(tensor, Tensor):
                continue
            kind: Kind = "user" if weight is None else "weight"
            own = tuple(names.get(size, Dim.of(size)) for size in tensor.shape)
            dtype = DTYPES.get(tensor.dtype, "?")
            inputs.append(TracedInput(node.name, own, dtype, kind, weight, spec.target or node.name))
        elif node.op == "call_function":
            node.meta[DIMS] = _dims(node.meta.get("val"), names)
            node.meta[SIZES] = {path: names[value] for path, value in _integers(node) if value in names}
    outputs = []
    for spec in exported.graph_signature.output_specs:
        if spec.kind.name != "USER_OUTPUT":
            continue
        node = next(node for node in graph.graph.nodes if node.name == spec.arg.name)
        value = node.meta["val"]
        outputs.append(TracedOutput(spec.arg.name, _dims(value, names), DTYPES.get(value.dtype, "?")))

    def reference(*tensors: Tensor, **weights: Tensor) -> tuple[Tensor, ...]:
        # Copies: statistics of a batch norm are updated.
        kept = [(item, weights.get(item.name, item.value)) for item in inputs]
        given = {item.origin: tensor.clone() for item, tensor in kept if tensor is not None}
        result = torch.func.functional_call(module, given, tensors)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    return TracedFunction(name, "function.py", 1, tuple(inputs), tuple(outputs), graph, dict(sizes or {}), reference)


def data_of(traced: TracedFunction, args: Sequence[Tensor]) -> CheckData:
    """Return the data of one check of ``traced`` on ``args``."""
    tensors: dict[str, Tensor] = {}
    users = iter(args)
    for item in traced.inputs:
        tensors[item.name] = next(users) if item.value is None else item.value.detach()

    def results(given: Mapping[str, Tensor]) -> Sequence[Tensor]:
        own = [given[item.name] for item in traced.inputs if item.kind == "user"]
        weights = {item.name: given[item.name] for item in traced.inputs if item.kind != "user"}
        return [result.detach() for result in traced.reference(*own, **weights)]

    return CheckData(tensors, results, traced.dims)


class _Names(dict[int, Dim]):
    """Numbers that are sizes, as expressions."""

    def __init__(self, sizes: Mapping[str, int], fitted: Callable[[int], str | None]) -> None:
        super().__init__({size: Dim.symbol(symbol) for symbol, size in sizes.items()})
        self._fitted = fitted

    def get(self, size: int, default: Any = None) -> Any:
        text = self._fitted(size)
        if size not in self and text is not None:
            return sum((Dim.symbol(symbol) for symbol in text.split(" + ")), Dim.of(0))
        return super().get(size, default)


class _Wrapped(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


def _dims(value: Any, names: Mapping[int, Dim]) -> tuple[Any, ...]:
    if isinstance(value, (tuple, list)):
        return tuple(_dims(item, names) for item in value)
    return tuple(names.get(size, Dim.of(size)) for size in getattr(value, "shape", ()))


def _integers(node: Any) -> Any:
    for place, argument in [*enumerate(node.args), *node.kwargs.items()]:
        if isinstance(argument, int) and not isinstance(argument, bool):
            yield (place,), argument
        elif isinstance(argument, (list, tuple)):
            yield from (((place, i), item) for i, item in enumerate(argument) if isinstance(item, int))
