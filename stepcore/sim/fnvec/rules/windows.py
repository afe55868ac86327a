"""Batching rules of what looks at windows of planes: pools, windows as columns, convolutions by constant weights.

All of them take a dimension of images, or leave it out; the batch dimensions are further ones of images.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch

from stepcore.sim.fnvec.errors import NoRule
from stepcore.sim.fnvec.names import Operation
from stepcore.sim.fnvec.record import has_traced
from stepcore.sim.fnvec.tape import TV, Reg, Tensor
from stepcore.sim.fnvec.trace import Tracer, rule


@rule(
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
)  # fmt: skip
def planes(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Channels, and as many dimensions as the name says, belong to one image."""
    return _of_images(tr, op, args, kwargs, expected, 1 + int(op.name[-2]))


@rule("unfold")
def unfold(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Windows of an image as columns; the method of the same name does something else."""
    if op.plain is not torch.nn.functional.unfold:
        raise NoRule
    return _of_images(tr, op, args, kwargs, expected, 3)


@rule("fold")
def fold(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Columns that are added up where windows meet."""
    return _of_images(tr, op, args, kwargs, expected, 2)


def _of_images(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any, rank: int) -> Reg:
    """Record an operation on images of ``rank`` dimensions, which are the first argument."""
    first, *others = args or (None,)
    if type(first) is not TV or has_traced((*others, *kwargs.values())) or not isinstance(expected, torch.Tensor):
        raise NoRule
    if first.rank not in (rank, rank + 1):
        raise NoRule
    batch, plain, shape = tr.batch, op.plain, tuple(expected.shape)

    def run(x: Tensor) -> Tensor:
        images = prod(x.shape[:-rank])
        result: Tensor = plain(x.reshape(images, *x.shape[-rank:]), *others, **kwargs)
        return result.reshape(*x.shape[:batch], *shape)

    return tr.emit(run, first.reg)
