"""Shape rules of what joins tensors, or takes them apart, beside the commonest ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from stepcore.fn.shapes.parts import argument
from stepcore.fn.shapes.rules import RULES, Inferring, Kwargs, Rule
from stepcore.fn.shapes.values import AbstractTensor, Pair, ShapeMismatch, Sizes, integer, place_of, shape_text
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted

_MOST_PARTS: Final = 64


def _stacked(s: Inferring, args: Sequence[Any], _kwargs: Kwargs, *, is_vertical: bool) -> Any:
    """Vectors side by side, or matrices one above the other."""
    given = args[0]
    if not isinstance(given, list | tuple) or not all(isinstance(each, AbstractTensor) for each in given):
        return AbstractTensor(None)
    if not given or any(each.shape is None for each in given):
        return AbstractTensor(None)
    least = 2 if is_vertical else 1
    parts = [AbstractTensor((*(Dim.of(1),) * (least - len(each.shape)), *each.shape), each.dtype) for each in given]
    along = 0 if is_vertical or len(parts[0].shape or ()) == 1 else 1
    return RULES["cat"](s, [parts, Dim.of(along)], {})


def _tensordot(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    a, b, dims = args[0], args[1], argument(args, kwargs, 2, "dims", Dim.of(2))
    if a.shape is None or b.shape is None:
        return AbstractTensor(None)
    count = integer(dims)
    if count is not None:
        left, right = list(range(len(a.shape) - count, len(a.shape))), list(range(count))
    elif isinstance(dims, list | tuple) and len(dims) == 2 and all(isinstance(each, list | tuple) for each in dims):
        left, right = (_places(each, shape) for each, shape in zip(dims, (a.shape, b.shape), strict=True))
    else:
        return AbstractTensor(None)
    if count is not None and not 0 <= count <= min(len(a.shape), len(b.shape)):
        raise ShapeMismatch(f"tensordot over {counted(count, 'dimension')} takes tensors that have as many")
    if len(left) != len(right):
        raise ShapeMismatch("tensordot takes as many dimensions of both tensors")
    for i, j in zip(left, right, strict=True):
        sizes = a.shape[i], b.shape[j]
        if s.compare.differ(*sizes) and False is s.compare.is_one(sizes[0]) is s.compare.is_one(sizes[1]):
            raise ShapeMismatch(
                f"tensordot of {shape_text(a.shape)} and {shape_text(b.shape)}: {sizes[0]} meets {sizes[1]}"
            )
    s.count(None)
    kept = [size for i, size in enumerate(a.shape) if i not in left]
    kept += [size for j, size in enumerate(b.shape) if j not in right]
    return AbstractTensor(tuple(kept), a.dtype if a.dtype == b.dtype else None)


def _places(dims: Sequence[Any], shape: Sizes) -> list[int]:
    """Return the places of dimensions.

    Raises:
        TypeError: they are not known.
    """
    numbers = [integer(each) for each in dims]
    if None in numbers:
        raise TypeError(dims)
    return [place_of(number, len(shape)) for number in numbers if number is not None]


def _tensor_split(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    told = argument(args, kwargs, 1, "indices_or_sections", kwargs.get("sections", kwargs.get("indices")))
    count = len(told) + 1 if isinstance(told, list | tuple) else integer(told)
    if count is None or not 0 < count <= _MOST_PARTS or not isinstance(args[0], AbstractTensor):
        return None
    shape, dim = args[0].shape, integer(argument(args, kwargs, 2, "dim", Dim.of(0)))
    if shape is None or dim is None:
        return [AbstractTensor(None, args[0].dtype)] * count
    place = place_of(dim, len(shape))
    return [AbstractTensor((*shape[:place], None, *shape[place + 1 :]), args[0].dtype)] * count


def _moments(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    """Variance, or deviation, and mean: both are a reduction along the same dimensions."""
    if len(args) > 2 or isinstance(argument(args, kwargs, 1, "dim"), bool):
        return None  # the spelling without names
    dim = argument(args, kwargs, 1, "dim")
    given = {"keepdim": kwargs["keepdim"]} if "keepdim" in kwargs else {}
    one = s.reduce("var", args[:1] if dim is None else [args[0], dim], given)
    return Pair(one, one) if isinstance(one, AbstractTensor) else None


JOINS: Final[Mapping[str, Rule]] = {
    "hstack": partial(_stacked, is_vertical=False), "vstack": partial(_stacked, is_vertical=True),
    "tensordot": _tensordot, "tensor_split": _tensor_split, "var_mean": _moments, "std_mean": _moments,
}  # fmt: skip
