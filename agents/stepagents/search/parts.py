"""What happens inside operations that torch computes in one kernel: the tensors that a longer way would pass through.

These are facts about mathematics, not about tasks: a softmax passes through exponentials and their sum, a variance
through squared deviations, a matrix product through the products that it adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any, Final

import torch
from torch import Tensor
from torch._decomp import decomposition_table

from stepcore.fn.allow import names

_COMPOUND: Final = names(
    """_euclidean_dist _fused_rms_norm _native_batch_norm_legit _native_batch_norm_legit_no_training _safe_softmax
    _scaled_dot_product_flash_attention_for_cpu addmm addmv addr baddbmm binary_cross_entropy
    binary_cross_entropy_with_logits dist glu hinge_embedding_loss logsumexp margin_ranking_loss multi_margin_loss
    native_batch_norm native_group_norm nll_loss_forward pairwise_distance pdist soft_margin_loss std_mean vdot
    _weight_norm_interface"""
)
_LARGEST: Final = 20_000  # numbers in the tensor of all products


def longer_way(func: Any) -> Callable[..., Any] | None:
    """Return torch's own decomposition of a compound operation into smaller ones; None where there is none to follow.

    It pays for norms, losses and attention. What activations are made of is no landmark, and operations that work in
    place must not run twice.
    """
    return decomposition_table.get(func) if func.overloadpacket.__name__ in _COMPOUND else None


def parts_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """Yield the tensors inside one call of an ATen operation."""
    rule = _RULES.get(func.overloadpacket.__name__)
    if rule is not None:
        yield from rule(*args, **kwargs)


def _softmax(x: Tensor, dim: int, *_rest: Any) -> Iterator[Tensor]:
    if not x.dim():
        return
    top = x.amax(dim, keepdim=True)
    for shifted in (x - top, x):
        exp = shifted.exp()
        total = exp.sum(dim, keepdim=True)
        yield from (shifted, exp, total, total.log(), 1.0 / total)
    running = torch.cummax(x, dim).values
    yield from (top, running, (x - running).exp(), torch.logsumexp(x, dim), torch.log_softmax(x, dim))


def _layer_norm(x: Tensor, shape: list[int], _weight: Any, _bias: Any, eps: float) -> Iterator[Tensor]:
    dims = list(range(-len(shape), 0))
    yield from _variance(x, dims)
    variance = x.var(dims, correction=0, keepdim=True)
    yield from (variance + eps, (variance + eps).sqrt(), (x - x.mean(dims, keepdim=True)) * (variance + eps).rsqrt())


def _variance(x: Tensor, dim: Any = None, **options: Any) -> Iterator[Tensor]:
    dims = list(range(x.dim())) if dim is None else dim
    if not dims:
        return
    mean = x.mean(dims, keepdim=True)
    centred = x - mean
    squares = x * x
    yield from (x.sum(dims), mean, centred, centred**2, (centred**2).sum(dims), (centred**2).mean(dims))
    yield from (squares, squares.sum(dims), squares.mean(dims), mean * mean)
    if options.get("correction") is not None:
        yield x.var(dims, correction=options["correction"])


def _mean(x: Tensor, dim: Any = None, *_rest: Any, **_options: Any) -> Iterator[Tensor]:
    yield x.sum() if dim is None else x.sum(dim)
    yield from _sums(x, dim)


def _sums(x: Tensor, dim: Any = None, *_rest: Any, **_options: Any) -> Iterator[Tensor]:
    """Sums over several dimensions are also sums of sums; a sum is the end of a running one."""
    dims = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    if len(dims) > 1:
        yield from (x.sum(one) for one in dims)
    elif dims and x.dim():
        yield x.cumsum(dims[0])


def _greatest(x: Tensor, dim: Any = None, *_rest: Any, **_options: Any) -> Iterator[Tensor]:
    dims = [dim] if isinstance(dim, int) else list(dim or ())
    if len(dims) == 1 and x.dim():
        yield torch.cummax(x, dims[0]).values


def _matmul(x: Tensor, y: Tensor, *_rest: Any) -> Iterator[Tensor]:
    """Matrix products: the products before they are summed, one row of sums at a time."""
    left = x.unsqueeze(-1)
    right = y.unsqueeze(-3) if y.dim() > 1 else y.unsqueeze(-1)
    if x.dim() and y.dim() > 1 and left.shape[-2] == right.shape[-2]:
        if x.numel() * y.shape[-1] <= _LARGEST:
            yield left * right
    elif x.dim() and x.shape[-1] == y.shape[-1]:
        yield x * y


def _norm(x: Tensor, order: float = 2, dim: Any = None, *_rest: Any, **_options: Any) -> Iterator[Tensor]:
    size = x.abs()
    powers = [size, size * size] + ([size**order] if order not in (0, 1, 2) and abs(order) < inf else [])
    yield from powers
    for power in powers:
        yield from (power.sum(), power.mean()) if dim is None else (power.sum(dim), power.mean(dim))


def _distances(x: Tensor, y: Tensor, order: float = 2, *_rest: Any) -> Iterator[Tensor]:
    gap = x.unsqueeze(-2) - y.unsqueeze(-3)
    if gap.numel() <= _LARGEST:
        yield from (gap, gap.abs(), gap.abs() ** order, (gap.abs() ** order).sum(-1))


def _difference(x: Tensor, y: Tensor, *_rest: Any, **_options: Any) -> Iterator[Tensor]:
    gap = x - y
    yield from (gap, gap.abs(), gap * gap, gap.abs().sum(), (gap * gap).sum())


def _sigmoid(x: Tensor, *_rest: Any, **_options: Any) -> Iterator[Tensor]:
    yield from (torch.sigmoid(x), torch.exp(-x), 1.0 + torch.exp(-x))


def _softplus(x: Tensor, *_rest: Any, **_options: Any) -> Iterator[Tensor]:
    yield from (torch.exp(x), 1.0 + torch.exp(x))


def _divide(_x: Any, y: Any, *_rest: Any, **_options: Any) -> Iterator[Tensor]:
    if isinstance(y, Tensor):
        yield 1.0 / y


def _root(x: Tensor) -> Iterator[Tensor]:
    yield from (x.sqrt(), x.rsqrt())


_RULES: Final[dict[str, Callable[..., Iterator[Tensor]]]] = {
    "amax": _greatest, "max": _greatest,
    "_softmax": _softmax, "_log_softmax": _softmax, "native_layer_norm": _layer_norm, "var": _variance,
    "std": _variance, "var_mean": _variance, "mean": _mean, "sum": _sums, "mm": _matmul, "bmm": _matmul,
    "dot": _matmul, "mv": _matmul, "linalg_vector_norm": _norm, "norm": _norm, "_cdist_forward": _distances,
    "mse_loss": _difference,
    "smooth_l1_loss": _difference, "huber_loss": _difference, "l1_loss": _difference, "silu": _sigmoid,
    "sigmoid": _sigmoid, "softplus": _softplus, "div": _divide, "sqrt": _root, "rsqrt": _root,
}  # fmt: skip
