"""Operands that an operation certainly does not take, whatever their shapes: texts, lists, dtypes, numbers for tensors.

A run refuses all of them (torch raises TypeError, or RuntimeError for a dtype), so check does.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

from stepcore.fn import allow
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    Number,
    Pair,
    ShapeMismatch,
    integer,
    numel,
    place_of,
    shape_text,
)
from stepcore.sizes.dim import Dim

FLOATS: Final = ("fp32", "fp16", "bf16", "fp64")
_BITS: Final = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "bitwise_not": "~"}
# Both operands are tensors by torch's schemas, for whatever number a tensor would broadcast from.
_OF_TENSORS: Final = allow.names("maximum minimum fmax fmin logaddexp logaddexp2 hypot nextafter")
# By which place, beside its name, the dimension is given along which an operation goes; and the one that it takes else.
_ALONG: Final[dict[str, tuple[int, int | None]]] = {
    **dict.fromkeys(allow.names("softmax log_softmax softmin cumsum cumprod logcumsumexp argsort sort"), (1, None)),
    **dict.fromkeys(allow.names("cummax cummin median mode glu unbind gather scatter scatter_add"), (1, None)),
    **dict.fromkeys(allow.names("index_select narrow select"), (1, None)),
    **dict.fromkeys(allow.names("split chunk tensor_split kthvalue"), (2, None)),
    **dict.fromkeys(allow.names("normalize cosine_similarity"), (2, 1)),
}
UNASKED: Final = allow.names("cummax cummin roll")  # of empty tensors torch takes any dimension here
_NEEDS_DIM: Final = allow.names("cumsum cumprod logcumsumexp logsumexp flip")
_RANKS: Final = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1)}
_JOINS: Final = allow.names("stack cat concat concatenate hstack vstack dstack")


def operands(left: Any, right: Any) -> None:
    """Look at both sides of an operator of which one is a tensor.

    Raises:
        ShapeMismatch: the other is a text, a list or a pair of tensors.
    """
    for value, other in ((left, right), (right, left)):
        if not isinstance(value, AbstractTensor):
            continue
        if isinstance(other, str):
            raise ShapeMismatch("a tensor and a text do not compute together")
        if isinstance(other, Pair | list | tuple):
            what = f"a list of {len(other)}" if isinstance(other, list | tuple) else "two tensors (values and indices)"
            raise ShapeMismatch(f"a tensor and {what} do not compute together; take one item of it")


def pointwise(name: str, values: Sequence[Any]) -> None:
    """Look at the operands of a pointwise operation.

    Raises:
        ShapeMismatch: their dtypes do not fit, or a number stands where a tensor has to.
    """
    tensors = [value for value in values if isinstance(value, AbstractTensor)]
    if name in _BITS and any(tensor.dtype in FLOATS for tensor in tensors):
        text = f"{_BITS[name]} works on truth values and whole numbers, and this is a tensor of fractions"
        raise ShapeMismatch(f"{text}; compare it first: (x > 0)")
    if name in _OF_TENSORS and len(values) == 2 and any(isinstance(value, Number | Dim) for value in values):
        bound = {"maximum": "min", "minimum": "max"}.get(name)
        raise ShapeMismatch(f"{name} takes two tensors" + (f"; write torch.clamp(x, {bound}=...)" if bound else ""))
    if name == "where" and len(values) == 3:
        test = values[0]
        if isinstance(test, bool):
            raise ShapeMismatch("where takes a tensor of truth values first; write if and else")
        if isinstance(test, AbstractTensor) and test.dtype in (*FLOATS, "int32", "int64"):
            raise ShapeMismatch(f"where takes truth values first, and this is {test.dtype}; write x != 0")


def named(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Look at what an operation is told besides its operands.

    Raises:
        ShapeMismatch: torch takes none such.
    """
    if name in ("clamp", "clip") and len(args) == 1 and not kwargs:
        raise ShapeMismatch(f"{name} needs a bound; give it min or max")
    if name in _NEEDS_DIM and len(args) == 1 and not kwargs:
        raise ShapeMismatch(f"{name} needs a dimension; give it dim")
    ranks = [len(value.shape) for value in args[:2] if isinstance(value, AbstractTensor) and value.shape is not None]
    if name in _RANKS and len(ranks) == 2 and tuple(ranks) != _RANKS[name]:
        wanted = " and ".join(map(str, _RANKS[name]))
        raise ShapeMismatch(f"{name} takes tensors with {wanted} dimensions, and these have {ranks[0]} and {ranks[1]}")
    if name in _JOINS and args and isinstance(args[0], AbstractTensor):
        raise ShapeMismatch(f"{name} takes a list of tensors; put them in [ ]")
    if name == "one_hot" and args and isinstance(args[0], AbstractTensor) and args[0].dtype not in (None, "int64"):
        raise ShapeMismatch(f"one_hot takes int64, and this is {args[0].dtype}; write .long()")
    mode = kwargs.get("rounding_mode")
    if isinstance(mode, str) and mode not in ("trunc", "floor"):
        raise ShapeMismatch(f"rounding_mode is 'trunc' or 'floor', and not {mode!r}")


def along(compare: Comparer, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Look at the dimension along which an operation goes.

    Raises:
        ShapeMismatch: there is none such.
    """
    place, default = _ALONG.get(name, (0, None))
    if not place or not isinstance(args[0], AbstractTensor) or args[0].shape is None:
        return
    given = args[place] if len(args) > place else kwargs.get("dim", None if default is None else Dim.of(default))
    dim = integer(given)
    if dim is None or (name in UNASKED and compare.is_empty(args[0].shape)):
        return
    rank = len(args[0].shape)
    if name == "cosine_similarity":  # goes along what both broadcast to
        other = args[1] if len(args) > 1 else kwargs.get("x2")
        if not isinstance(other, AbstractTensor) or other.shape is None:
            return
        rank = max(rank, len(other.shape))
    place_of(dim, rank)


def condition(compare: Comparer, value: Any) -> None:
    """Look at what an ``if`` asks.

    Raises:
        ShapeMismatch: it is a tensor of more than one truth value.
    """
    if isinstance(value, AbstractTensor) and compare.differ(numel(value.shape), Dim.of(1)):
        text = f"a condition is one truth value, and this is a tensor of {shape_text(value.shape or ())}"
        raise ShapeMismatch(f"{text}; write .any() or .all()")


def choice(yes: Any, no: Any) -> Any:
    """Return what is known of a value that is one of two different ones."""
    for value, other in ((yes, no), (no, yes)):
        if isinstance(value, AbstractTensor) and isinstance(other, Number | Dim):
            return Number("any")
    return None


def nothing(name: str, node: ast.Call) -> None:
    """Look at a call of what works on the items of a list, as it is written: lists that are bound may grow.

    Raises:
        ShapeMismatch: the list is empty.
    """
    first = node.args[0] if node.args else None
    if not isinstance(first, ast.List | ast.Tuple) or first.elts or len(node.args) > 1:
        return
    if name in _JOINS or (name in ("max", "min") and not node.keywords):
        raise ShapeMismatch(f"{name} of nothing: the list is empty")
