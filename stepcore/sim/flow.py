"""Which tensors reach which results of a computation, seen while it runs.

A dispatch mode of torch sees every operation, whoever wrote it: a reference of a task file, or a user's own function.
What an operation gives is reached by all that reaches its arguments, unless it looks at their shape only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isqrt, prod
from typing import Any, Final

import torch
from torch import Tensor

from stepcore.sim.fnvec.dispatch import UncompiledMode, tensors_in
from stepcore.sim.runs import OF_OPERATION

# These take nothing but sizes and types from their tensor arguments, or from all but the first.
_FROM_SHAPE: Final = frozenset(
    {"empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like", "randint_like"}
    | {"new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"}
    | {"size", "sym_size", "stride", "sym_stride", "numel", "sym_numel", "dim", "is_same_size"}
)
_SHAPE_AFTER_FIRST: Final = frozenset({"expand_as", "reshape_as", "type_as", "view_as"})
_TO_PYTHON: Final = frozenset({"_local_scalar_dense", "is_nonzero", "equal", "item"})
_NEW: Final = frozenset({"lift_fresh", "lift_fresh_copy", "lift"})  # a tensor made of numbers of Python
_NOTHING: Final[frozenset[str]] = frozenset()
_INPUT: Final = frozenset({""})
_OF_NUMBER: Final = 64  # multiplications of a product that are computed in the time that any other number takes
_PRODUCTS: Final = frozenset(
    {"matmul", "mm", "bmm", "addmm", "baddbmm", "linear", "einsum", "tensordot", "scaled_dot_product_attention"}
    | {"conv1d", "conv2d", "conv3d", "convolution"}
)


def reaching(flow: FlowMode, compute: Callable[[], Sequence[Tensor]]) -> tuple[list[Tensor], list[frozenset[str]]]:
    """Run ``compute`` under ``flow``; return its results, and for each the names of the tensors that reach it.

    What Python decides by a value (``if x.sum() > 0``) is taken to reach every result. Values that leave torch by other
    ways (``tolist``, NumPy) are not followed: less is said to reach the results then, never more.
    """
    with flow:
        results = list(compute())
    return results, [flow.of(result) | flow.decisions for result in results]


class FlowMode(UncompiledMode):  # type: ignore[no-untyped-call]
    """Follows memory: views share it, and what is written in place is reached like what is computed anew.

    ``tensors`` are what results may depend on, by name. ``work`` is how much was computed: each operation counts, each
    number that it gives, and the multiplications of products. It is the same on every processor.
    """

    def __init__(self, tensors: Mapping[str, Sequence[Tensor]]) -> None:
        super().__init__()
        self._reach: dict[int, frozenset[str]] = {}
        self.decisions = _NOTHING
        self.work = 0
        for name, components in tensors.items():
            for tensor in components:
                if memory := _memory(tensor):
                    self._reach[memory] = self._reach.get(memory, _NOTHING) | {name}

    def begin(self, tensors: Sequence[Tensor]) -> None:
        """Forget what was followed; all of ``tensors`` are inputs."""
        self._reach = dict.fromkeys((_memory(tensor) for tensor in tensors), _INPUT)

    def of(self, tensor: Tensor) -> frozenset[str]:
        """Return the names of what reaches ``tensor``."""
        return self._reach.get(_memory(tensor), _NOTHING)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operation and note what reaches its results."""
        kwargs = kwargs or {}
        self.look(func, args, kwargs)
        found = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        given = list(tensors_in((args, kwargs)))
        read = given[:1] if name in _SHAPE_AFTER_FIRST or func is torch.ops.aten.to.other else given
        names = _NOTHING
        if name not in _FROM_SHAPE and name not in _NEW:
            names = names.union(*(self.of(tensor) for tensor in read))
        if name in _TO_PYTHON:
            self.decisions |= names
        results = list(tensors_in(found))
        self.work += _work(name, given, results)
        if name == "broadcast_tensors":
            return found  # views of its arguments, each reached by its own only
        before = {_memory(tensor) for tensor in given}
        for result in results:
            memory = _memory(result)
            kept = self._reach.get(memory, _NOTHING) if memory in before and name not in _NEW else _NOTHING
            self._reach[memory] = kept | names
        self.after(func, args, found)
        return found

    def look(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Look at an operation that is about to run, on arguments whose origin is known; a subclass may."""

    def after(self, func: Any, args: tuple[Any, ...], found: Any) -> None:
        """Look at what an operation gave; a subclass may."""


class Working(UncompiledMode):  # type: ignore[no-untyped-call]
    """Counts the ``work`` of what runs while it is active, as :class:`FlowMode` does."""

    def __init__(self) -> None:
        super().__init__()
        self.work = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operation and count it."""
        found = func(*args, **(kwargs or {}))
        self.work += _work(func.overloadpacket.__name__, args, tensors_in(found))
        return found


def _work(name: str, args: Any, results: Iterable[Tensor]) -> int:
    """Return what an operation counts.

    Sizes of ``m * k``, ``k * n`` and ``m * n`` give the multiplications of a product of matrices; of other products
    they are of that order.
    """
    numbers = sum(result.numel() for result in results)
    if name in _PRODUCTS:
        sizes = sorted(tensor.numel() for tensor in tensors_in(args))
        numbers += isqrt(prod(sizes[-2:]) * numbers) // _OF_NUMBER
    return OF_OPERATION + numbers


def _memory(tensor: Tensor) -> int:
    """Return the address of a tensor's memory, 0 where it has none."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):  # sparse tensors and their kin
        return 0
