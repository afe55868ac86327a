"""Operations that PyTorch runs on values only, by others that give the same shapes. Loads torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class _LeastSquares(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def _covariance(rows: Tensor, **_options: Any) -> Tensor:
    if rows.dim() > 2:
        raise RuntimeError(f"expected a tensor of two or fewer dimensions, but got {rows.dim()}D")
    if not rows.is_floating_point():
        rows = rows.to(torch.get_default_dtype())
    return rows @ rows.mT if rows.dim() == 2 else rows @ rows


def _counts(index: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    if not minlength:
        return torch.bincount(index, weights, minlength)  # how long it is depends on the values
    if index.dim() != 1 or index.is_floating_point():
        raise RuntimeError(f"bincount takes whole numbers of 1 dimension, but got {index.dim()}D {index.dtype}")
    if weights is not None and weights.shape != index.shape:
        raise RuntimeError(f"weights of shape {tuple(weights.shape)} must match those of {tuple(index.shape)}")
    return torch.zeros(minlength, dtype=torch.int64 if weights is None else torch.float64)


def _least_squares(rows: Tensor, sides: Tensor, *_more: Any, **_options: Any) -> _LeastSquares:
    solution = rows.mT @ sides  # its shape; the others are read by nobody who wants sizes
    return _LeastSquares(solution, solution, solution, solution)


# By the name that the operation has for PyTorch.
STAND_INS: Final[Mapping[str, Callable[..., Any]]] = {
    "cov": _covariance, "corrcoef": _covariance, "bincount": _counts, "linalg_lstsq": _least_squares,
}  # fmt: skip


class StandIns(TorchFunctionMode):
    """Runs the operations of :data:`STAND_INS` by those that stand in for them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return STAND_INS.get(getattr(func, "__name__", ""), func)(*args, **(kwargs or {}))
