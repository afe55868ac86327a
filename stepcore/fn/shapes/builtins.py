"""What Python's own functions give of tensors, numbers and lists, as far as shapes go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stepcore.fn.python_calls import NOT_OF_TENSORS, of_a_tensor
from stepcore.fn.shapes.operands import FLOATS
from stepcore.fn.shapes.operations import Shapes
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    LikeItems,
    NotOfTensors,
    Number,
    ShapeMismatch,
    length_of,
    numel,
    row_of,
    shape_text,
)
from stepcore.sizes.dim import Dim

_LISTS: Final = frozenset({"list", "tuple", "range", "enumerate", "zip"})


def builtin(shapes: Shapes, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what a function of Python gives, None where nothing is known of it.

    Raises:
        NotOfTensors: no tensor goes through it.
        ShapeMismatch: it takes no such values.
    """
    if name in NOT_OF_TENSORS and any(isinstance(value, AbstractTensor) for value in args):
        raise NotOfTensors(of_a_tensor(name))
    if name == "len" and args:
        if isinstance(args[0], list | tuple):
            return Dim.of(len(args[0]))
        if isinstance(args[0], AbstractTensor) and args[0].shape == ():
            raise ShapeMismatch("len() takes a tensor with at least one dimension")
        return length_of(args[0])
    if name in ("max", "min"):
        return None if kwargs else _extreme(shapes.compare, args)
    if name in _LISTS and not kwargs:
        return _listed(name, args)
    if name == "sum" and len(args) == 1:
        return _summed(shapes, args[0])
    if name == "abs" and args and isinstance(args[0], AbstractTensor):
        return shapes.pointwise("abs", args)
    if name == "float":
        return Number()
    if name in ("bool", "any", "all"):
        return Number("bool")
    if name == "int" and len(args) == 1 and isinstance(args[0], AbstractTensor):
        return Number("int")
    return None


def _summed(shapes: Shapes, value: Any) -> Any:
    """Return what Python's ``sum`` gives of like tensors: of none it is a number."""
    count, item = length_of(value), row_of(value)
    if not isinstance(item, AbstractTensor) or count is None or (shapes.compare.bound(count) or 0) < 1:
        return None
    shapes.count(None)
    return item if item.dtype in FLOATS else AbstractTensor(item.shape)


def _extreme(compare: Comparer, args: Sequence[Any]) -> Any:
    """Return what Python's ``max`` or ``min`` gives of values, of which it takes one as it is.

    Raises:
        ShapeMismatch: the first two of them are compared as tensors of more than one number.
    """
    values = args[0] if len(args) == 1 else args
    if not isinstance(values, list | tuple):
        return None
    first = [value for value in values[:2] if isinstance(value, AbstractTensor | Number | Dim)]
    if len(first) == 2 and any(isinstance(value, AbstractTensor) for value in first):
        shape = compare.broadcast([value.shape if isinstance(value, AbstractTensor) else () for value in first])
        if compare.differ(numel(shape), Dim.of(1)):
            text = f"Python's max and min take numbers, and this is a tensor of {shape_text(shape or ())}"
            raise ShapeMismatch(f"{text}; write torch.clamp(x, min=...), torch.maximum(x, y) or x.max()")
    has_tensor = any(isinstance(value, AbstractTensor) for value in values)
    is_mixed = has_tensor and any(isinstance(value, Number | Dim) for value in values)
    return Number("any") if is_mixed else None


def _listed(name: str, args: Sequence[Any]) -> Any:
    """Return the list that a function of Python makes of values, None where nothing is known of it."""
    first = args[0] if args else None
    if name in ("list", "tuple") and len(args) == 1:
        return LikeItems(row_of(first), length_of(first)) if isinstance(first, AbstractTensor | LikeItems) else None
    if name == "range" and 1 <= len(args) <= 2 and all(isinstance(each, Dim) for each in args):
        return LikeItems(Number("int"), args[0] if len(args) == 1 else args[1] - args[0])
    if name == "enumerate" and len(args) == 1:
        return LikeItems([Number("int"), row_of(first)], length_of(first))
    if name == "zip" and args:
        lengths = [length_of(each) for each in args]
        return LikeItems([row_of(each) for each in args], lengths[0] if len({*lengths}) == 1 else None)
    return None
