"""The user's function as the reference of a task: its ATen graph as text in the language of task files.

The text reads the function's own tensors from ``input_data`` and gives its results, so a task file can be verified,
searched and sent without the user's module. Loads no torch by itself.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stepagents.lower.functions import fresh_name
from stepagents.lower.layouts import MOST_VALUES
from stepagents.traced.graph import (
    SCALARS,
    SIZES,
    Path,
    TracedFunction,
    needed,
    node_dims,
    scalar_argument,
    size_text,
)
from stepcore.fn import allow

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Node

_SIGNS: Final[Mapping[str, str]] = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_DROPPED: Final = frozenset({"device", "layout", "pin_memory", "memory_format", "non_blocking"})
# Called ``torch.NAME`` with the arguments of the graph, they mean the same.
_PLAIN: Final = frozenset({"default", "Tensor", "Scalar", "dim", "dim_IntList", "int", "self", "Tensor_Scalar"})
_OPEN: Final = str((1 << 63) - 1)  # the end of a slice that has none
_SAME: Final[Mapping[str, str]] = {"_softmax": "softmax", "_log_softmax": "log_softmax"}
# The public functions give the first result alone.
_FIRST: Final[Mapping[str, str]] = {"_linalg_det": "torch.linalg.det", "linalg_inv_ex": "torch.linalg.inv"}
_REDUCTIONS: Final = frozenset({"amax", "amin", "mean", "sum"})
_POOLS: Final = frozenset({"_adaptive_avg_pool2d", "_adaptive_avg_pool3d"})
# These fail where the graph's strides are not those of the tensors that the text makes.
_RESHAPES: Final = frozenset({"view", "_unsafe_view", "reshape"})
# Views and copies that need no operation where values are all that counts.
_COPIES: Final = frozenset({"alias", "clone", "contiguous", "detach", "lift_fresh_copy", "lift"})


class Unwritable(ValueError):
    """An operation or a constant of the function cannot be written in the language of task files."""


def transform_blocks(traced: TracedFunction, available: set[str], taken: set[str]) -> list[str]:
    """Return one ``data_transform`` for each result; all of them share one scope, the first does the work.

    ``available`` are the tensors that ``input_data`` holds, ``taken`` names that the text must not bind.

    Raises:
        Unwritable: see there.
    """
    return _Writer(traced, available, taken).blocks()


class _Writer:
    def __init__(self, traced: TracedFunction, available: set[str], taken: set[str]) -> None:
        self._traced = traced
        self._available = available
        self._taken = {*taken, "torch", "input_data", "ctx", "math"}
        self._texts: dict[Node, str] = {}
        self._lines: list[str] = []

    def blocks(self) -> list[str]:
        """Write the graph."""
        inputs = {item.name: item for item in self._traced.inputs}
        nodes = {node.name: node for node in self._traced.graph.graph.nodes}
        wanted = needed(self._traced.graph.graph)
        for node in self._traced.graph.graph.nodes:
            if node not in wanted or node.op == "output":
                continue
            if node.op == "placeholder" and node.name in inputs:
                self._texts[node] = self._input(node.name, inputs[node.name].value, node)
            elif node.op == "call_function":
                self._call(node)
            else:
                raise Unwritable(f"{node.name} is no operation of the graph")
        results = [self._texts[nodes[output.node]] for output in self._traced.outputs]
        return ["\n".join([*self._lines, results[0]]), *results[1:]]

    def _input(self, name: str, value: Tensor | None, node: Node) -> str:
        if name in self._available:
            return f"input_data[{name!r}]"
        if value is not None:
            if value.numel() > MOST_VALUES:
                raise Unwritable(f"the constant {name} has {value.numel():,} elements")
            numbers = ", ".join(_literal(number) for number in value.reshape(-1).tolist())
            shape = ", ".join(map(str, value.shape))
            return f"torch.tensor([{numbers}], dtype={value.dtype}).reshape([{shape}])"
        # The program does not read it, so its values do not matter.
        return f"torch.zeros([{', '.join(size_text(size) for size in node_dims(node))}])"

    def _call(self, node: Node) -> None:
        target: Any = node.target
        is_item = target is operator.getitem
        base, index = node.args if is_item else (node, 0)
        text = item_text(base, index, self._texts) if is_item else operation_text(node, self._texts)
        if len(node.users) > 1 or not _is_short(text):
            name = fresh_name(node.name, self._taken)
            self._lines.append(f"{name} = {text}")
            text = name
        self._texts[node] = text


def item_text(base: Any, index: Any, texts: Mapping[Node, str]) -> str:
    """Return one result of an operation with several.

    Raises:
        Unwritable: the language's form of the operation gives the first one only.
    """
    name = base.target._opname
    if "batch_norm" not in name and name not in _FIRST:
        return f"{texts[base]}[{index}]"
    if index != 0:
        raise Unwritable(f"the further results of aten.{name}")
    return texts[base]


def operation_text(node: Node, texts: Mapping[Node, str], rank: int = 0) -> str:
    """Return one call of an ATen operation in the language of task files; ``texts`` are its tensors.

    With ``rank``, that of its tensors, an argument ``dim`` is counted from the end: it then means the same where
    leading dimensions are missing.

    Raises:
        Unwritable: the language lacks it.
    """
    target: Any = node.target
    name, overload = target._opname, target._overloadname
    given = [_argument(node, (place,), value, texts) for place, value in enumerate(node.args)]
    for place, (argument, value) in enumerate(zip(target._schema.arguments, node.args, strict=False)):
        if rank and argument.name == "dim" and isinstance(value, int):
            given[place] = str(value % rank - rank)
    named = {
        key: _argument(node, (key,), value, texts)
        for key, value in node.kwargs.items()
        if key not in _DROPPED and value is not None
    }
    special = _in_another_way(name, overload, given, named)
    if special:
        return special
    if name in _REDUCTIONS and given[1:] == ["[]"]:  # over all dimensions
        given = given[:1]
    listed = ", ".join([*given, *(f"{key}={value}" for key, value in named.items())])
    if name in allow.FAMILIAR & allow.TORCH_FUNCTIONS - allow.RANDOM and overload in _PLAIN:
        return f"torch.{name}({listed})"
    if overload not in allow.ATEN.get(name, ()):
        raise Unwritable(f"aten.{name}.{overload} is not in the language of task files")
    return f"torch.ops.aten.{name}.{overload}({listed})"


def _in_another_way(name: str, overload: str, given: Sequence[str], named: Mapping[str, str]) -> str:
    """Return the operation where it is written with another name or form; an empty text for all others."""
    if name in _COPIES or (name == "_to_copy" and "dtype" not in named):
        return given[0]
    if name == "_to_copy":
        return f"{given[0]}.to({named['dtype']})"
    if name in _SIGNS and len(given) == 2 and not named:
        return f"({given[0]} {_SIGNS[name]} {given[1]})"
    if name in _RESHAPES:
        return f"torch.reshape({given[0]}, {given[1]})"
    if name in _POOLS:
        return f"torch.ops.aten.{name[1:]}.default({given[0]}, {given[1]})"
    if "batch_norm" in name:
        return _batch_norm(name, overload, given)
    if name in _FIRST:
        return f"{_FIRST[name]}({given[0]})"
    if name == "linalg_cross":
        return f"torch.linalg.cross({', '.join([*given, *(f'dim={named[key]}' for key in named)])})"
    if name == "slice" and given[3:] in ([_OPEN], [_OPEN, "1"]) and not named:
        return f"{given[0]}[{_index_of(int(given[1]), f'{given[2]}:')}]"
    if name in _SAME:
        return f"torch.{_SAME[name]}({given[0]}, {given[1]})"
    return ""


def _index_of(dim: int, part: str) -> str:
    """Return the index that takes ``part`` of a dimension, counted from the front or, where negative, from the end."""
    places = [":"] * dim + [part] if dim >= 0 else ["...", part] + [":"] * (-dim - 1)
    return ", ".join(places)


def _argument(node: Node, path: Path, value: Any, texts: Mapping[Node, str]) -> str:
    known: Any = texts.get(value) if _is_node(value) else None
    if known is not None:
        return str(known)
    if path in node.meta.get(SIZES, {}) or path in node.meta.get(SCALARS, {}):
        return scalar_argument(node, path)
    if isinstance(value, (list, tuple)):
        items = [_argument(node, (*path, place), item, texts) for place, item in enumerate(value)]
        return f"[{', '.join(items)}]"
    return _literal(value)


def _batch_norm(name: str, overload: str, given: Sequence[str]) -> str:
    """Write a normalization over the batch as the public function, without the update of its statistics."""
    match name, overload:
        case "_native_batch_norm_legit_no_training" | "_batch_norm_no_update", _:
            tensor, weight, bias, mean, variance, momentum, eps = given
            training = "False"
        case "_native_batch_norm_legit", "no_stats":
            tensor, weight, bias, training, momentum, eps = given
            mean = variance = "None"
        case _:
            raise Unwritable(f"aten.{name}.{overload} is not in the language of task files")
    order = ", ".join([tensor, mean, variance, weight, bias, training, momentum, eps])
    return f"torch.nn.functional.batch_norm({order})"


def _is_node(value: Any) -> bool:
    return hasattr(value, "all_input_nodes")


def _is_short(text: str) -> bool:
    return len(text) <= 40


def _literal(value: Any) -> str:
    if isinstance(value, float) and value != value:  # noqa: PLR0124  only NaN differs from itself
        return "torch.nan"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "torch.inf" if value > 0 else "-torch.inf"
    if value is None or isinstance(value, (bool, int, float)) or type(value).__name__ == "dtype":
        return str(value)
    if isinstance(value, str):
        return repr(value)
    raise Unwritable(f"an argument {value!r} cannot be written")
