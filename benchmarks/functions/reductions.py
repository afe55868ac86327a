# ruff: noqa: F722, F821
# mypy: ignore-errors
"""Reductions over any dimensions, cumulative sums, arg-maximum. Sizes: annotations in quotes."""

import torch
from torch import Tensor


def row_sum(x: 'Float[Tensor, "m k"]') -> Tensor:
    return x.sum(-1)


def column_mean(x: 'Float[Tensor, "m k"]') -> Tensor:
    return x.mean(0)


def total(x: 'Float[Tensor, "m k"]') -> Tensor:
    return x.sum()


def channel_max(x: 'Float[Tensor, "n c h w"]') -> Tensor:
    return x.amax(dim=(2, 3))


def row_min(x: 'Float[Tensor, "m k"]') -> Tensor:
    return x.min(dim=1).values


def row_product(x: 'Float[Tensor, "m k"]') -> Tensor:
    return x.prod(dim=1)


def row_norm(x: 'Float[Tensor, "m k"]') -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1)


def row_variance(x: 'Float[Tensor, "m k"]') -> Tensor:
    return x.var(dim=-1, unbiased=False)


def log_sum_exp(x: 'Float[Tensor, "m k"]') -> Tensor:
    return torch.logsumexp(x, dim=-1)


def running_sum(x: 'Float[Tensor, "m k"]') -> Tensor:
    return torch.cumsum(x, dim=-1)


def running_sum_of_columns(x: 'Float[Tensor, "m k"]') -> Tensor:
    return torch.cumsum(x, dim=0)


def reversed_running_sum(x: 'Float[Tensor, "m k"]') -> Tensor:
    return x.flip(-1).cumsum(-1).flip(-1)


def best_column(x: 'Float[Tensor, "m k"]') -> Tensor:
    return x.argmax(dim=-1)
