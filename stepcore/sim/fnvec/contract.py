"""Sums of products of operands that broadcast against each other, without building the product.

``contract(a, b, dims)`` is ``(a * b).sum(dims)``. Where the operands have size 1 against n in different
dimensions and the product is large, it becomes one batched matrix product on the small operands.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch

from stepcore.sim.fnvec.batch import common_shape
from stepcore.sim.fnvec.tape import Tensor

# Below this many numbers two plain operations are faster than one einsum.
LARGE = 1 << 15


@dataclass(frozen=True, slots=True)
class ContractionPlan:
    """How to contract operands of two given shapes: an einsum on squeezed operands."""

    equation: str
    left: tuple[int, ...]
    right: tuple[int, ...]
    out: tuple[int, ...]


@lru_cache(maxsize=4096)
def _plan(left: tuple[int, ...], right: tuple[int, ...], dims: tuple[int, ...]) -> ContractionPlan | None:
    """Return the plan for ``(left * right).sum(dims)``, None where multiplying plainly is as good."""
    rank = max(len(left), len(right))
    a = (1,) * (rank - len(left)) + tuple(left)
    b = (1,) * (rank - len(right)) + tuple(right)
    if rank > len(string.ascii_letters) or any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        return None
    total = 1
    for x, y in zip(a, b, strict=True):
        total *= x if y == 1 else y
    if total <= LARGE or a == b:
        return None
    summed = {d % rank for d in dims}
    if all(a[i] == b[i] == 1 for i in summed):
        return None  # nothing is added up
    letters = string.ascii_letters[:rank]
    in_a = [i for i in range(rank) if a[i] != 1]
    in_b = [i for i in range(rank) if b[i] != 1]
    kept = [i for i in range(rank) if i not in summed]
    out = [i for i in kept if a[i] != 1 or b[i] != 1]
    equation = "".join(letters[i] for i in in_a) + "," + "".join(letters[i] for i in in_b)
    equation += "->" + "".join(letters[i] for i in out)
    shape = tuple(a[i] if b[i] == 1 else b[i] for i in kept)
    return ContractionPlan(equation, tuple(a[i] for i in in_a), tuple(b[i] for i in in_b), shape)


def contract(a: Tensor, b: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return ``(a * b).sum(dims)``; ``dims`` are negative. Shapes broadcast as usual."""
    plan = _plan(a.shape, b.shape, dims)
    if plan is None:
        return (a * b).sum(dims) if dims else a * b
    result: Tensor = torch.einsum(plan.equation, a.reshape(plan.left), b.reshape(plan.right))
    return result.reshape(plan.out)


@lru_cache(maxsize=4096)
def _kept(left: tuple[int, ...], right: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of ``(left * right).sum(dims)``."""
    full = common_shape((left, right))
    summed = {d % len(full) for d in dims}
    return tuple(size for i, size in enumerate(full) if i not in summed)


@dataclass(slots=True)
class Product:
    """A contraction that is not carried out yet: ``sum(left * right)`` over the element dimensions ``dims``.

    ``left`` and ``right`` are aligned: their trailing ``rank`` dimensions are those of the product's element, in front
    stand the batch dimensions (none for weights). ``dims`` are negative, counted from the end.
    """

    left: Any
    right: Any
    rank: int
    dims: tuple[int, ...] = field(default=())


class LazyProduct:
    """Values of shape ``batch + element`` that are a contraction of two tensors, materialized on demand."""

    __slots__ = ("_value", "batch", "dims", "left", "rank", "right")

    def __init__(self, left: Tensor, right: Tensor, batch: int, rank: int, dims: tuple[int, ...]) -> None:
        self.left = left
        self.right = right
        self.batch = batch
        self.rank = rank
        self.dims = dims
        self._value: Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values: batch dimensions (1 where the same along one), then the element."""
        return _kept(self.left.shape, self.right.shape, self.dims)

    def materialize(self) -> Tensor:
        """Return the values as one tensor."""
        if self._value is None:
            self._value = contract(self.left, self.right, self.dims)
        return self._value

    def sum(self, axes: Sequence[int]) -> Tensor:
        """Return the values summed over the batch dimensions ``axes``, which disappear."""
        if self._value is not None:
            return self._value.sum(tuple(axes)) if axes else self._value
        total = self.batch + self.rank
        return contract(self.left, self.right, (*self.dims, *(axis - total for axis in axes)))
