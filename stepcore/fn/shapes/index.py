"""Shapes of indexing: numbers, slices, ``None``, ``...`` and tensors of indices."""

from __future__ import annotations

import ast
from typing import Any, Protocol

from stepcore.fn.shapes.values import AbstractTensor, Comparer, Number, ShapeMismatch, Size, Sizes, shape_text
from stepcore.sizes.dim import Dim


class ScopedInference(Protocol):
    """What is known of expressions in one scope."""

    compare: Comparer

    def eval(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        """Return what is known of an expression; operands that do not fit are reported once."""


def index_shape(inference: ScopedInference, value: AbstractTensor, index: ast.expr, scope: dict[str, Any]) -> Any:
    """Return the shape of ``value[index]``.

    Raises:
        ShapeMismatch: more indices than dimensions, or a number out of range.
    """
    parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    if value.shape is None:
        for part in parts:
            if not isinstance(part, ast.Slice):
                inference.eval(part, scope)
        return AbstractTensor(None, value.dtype)
    found = [None if _is_plain(part) else inference.eval(part, scope) for part in parts]
    taken = [_taken(part, each) for part, each in zip(parts, found, strict=True)]
    if len(parts) == 1 and isinstance(found[0], list | tuple):
        taken = [None]  # a list is one index, a tuple one for each of its items
    sizes = list(value.shape)
    result: list[Size] = []
    unknown = False
    for place, (part, index_, count) in enumerate(zip(parts, found, taken, strict=True)):
        if _is_constant(part, None):
            result.append(Dim.of(1))
            continue
        rest = taken[place + 1 :]
        if count is None or (_is_constant(part, Ellipsis) and None in rest):
            return AbstractTensor(None, value.dtype)  # what follows stands for nobody knows which dimensions
        if _is_constant(part, Ellipsis):
            take = max(len(sizes) - sum(each for each in rest if each is not None), 0)
            result += sizes[:take]
            sizes = sizes[take:]
            continue
        if len(sizes) < count:
            raise ShapeMismatch(f"more indices than dimensions: {shape_text(value.shape)}")
        own, sizes = sizes[:count], sizes[count:]
        if isinstance(part, ast.Slice):
            result.append(_sliced(inference, part, own[0], scope))
            continue
        picked = None if count != 1 else _picked(inference.compare, index_, own[0], value, is_alone=len(parts) == 1)
        if picked is None:
            unknown = True
        else:
            result += picked
    return AbstractTensor(None if unknown else (*result, *sizes), value.dtype)


def _is_plain(part: ast.expr) -> bool:
    """Return whether an index is written as only indices are."""
    return isinstance(part, ast.Slice) or _is_constant(part, None) or _is_constant(part, Ellipsis)


def _taken(part: ast.expr, found: Any) -> int | None:
    """Return for how many dimensions an index stands, None where that is not known."""
    if _is_constant(part, None) or _is_constant(part, Ellipsis) or isinstance(found, bool):
        return 0
    if isinstance(found, AbstractTensor):
        return _masked(found.shape) if found.dtype == "bool" else None if found.dtype is None else 1
    if isinstance(found, Number):
        return {"float": 1, "int": 1, "bool": 0}.get(found.kind)
    if isinstance(found, list | tuple):
        return 1 if all(isinstance(each, Dim) for each in found) else None
    return 1 if isinstance(part, ast.Slice) or isinstance(found, Dim | str) else None


def _masked(shape: Sizes | None) -> int | None:
    """Return for how many dimensions truth values stand: for as many as they have."""
    return None if shape is None else len(shape)


def _picked(compare: Comparer, found: Any, size: Size, value: AbstractTensor, *, is_alone: bool) -> Sizes | None:
    """Return the sizes that an index leaves of a dimension, None where that is not known."""
    if isinstance(found, str) or (isinstance(found, Number) and found.kind == "float"):
        raise ShapeMismatch("what indexes a tensor is a whole number, a slice, None, ... or a tensor of these")
    if isinstance(found, Dim):
        _in_range(compare, found, size, value)
        return ()
    if isinstance(found, Number) and found.kind == "int":
        return ()  # one place, whichever
    is_list = isinstance(found, AbstractTensor) and found.dtype == "int64" and is_alone
    return found.shape if is_list else None


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _in_range(compare: Comparer, index: Dim, size: Size, value: AbstractTensor) -> None:
    place = compare.bound(index)
    length = None if size is None else compare.bound(size)
    if place is not None and length is not None and not -length <= place < length:
        raise ShapeMismatch(f"index {index} is out of range for {shape_text(value.shape or ())}")


def _sliced(inference: ScopedInference, part: ast.Slice, size: Size, scope: dict[str, Any]) -> Size:
    if part.lower is None and part.upper is None and part.step is None:
        return size
    compare = inference.compare
    bounds = [None if edge is None else inference.eval(edge, scope) for edge in (part.lower, part.upper, part.step)]
    edges = zip((part.lower, part.upper, part.step), bounds, strict=True)
    if size is None or any(edge is not None and not isinstance(value, Dim) for edge, value in edges):
        return None
    length = compare.bound(size)
    start, stop, step = (None if b is None else compare.bound(b) for b in bounds)
    if step is not None and step <= 0:
        raise ShapeMismatch(f"a slice of a tensor has a step of 1 or more, and not {step}; write .flip(0)")
    if length is None or any(b is not None and v is None for b, v in zip(bounds, (start, stop, step), strict=True)):
        return None
    first = _edge(bounds[0], start, size, length, Dim.of(0))
    last = _edge(bounds[1], stop, size, length, size)
    count = last - first
    if step is not None and step > 1:
        count = (count + (step - 1)) // step
    bound = compare.bound(count)
    return None if bound is None or bound < 0 else count


def _edge(symbolic: Any, value: int | None, size: Dim, length: int, default: Dim) -> Dim:
    """Return where a slice starts or ends, clipped to the dimension as Python does."""
    if value is None:
        return default
    if value < 0:
        return size + symbolic if value >= -length else Dim.of(0)
    result: Dim = symbolic if value <= length else size
    return result
