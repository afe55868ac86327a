# mypy: ignore-errors
"""Broadcasting, views and permutations. Sizes: comments."""

import torch
from torch import Tensor


def add_bias(x: Tensor, bias: Tensor) -> Tensor:  # stepsmith: x[m, k], bias[k]
    return x + bias


def scale_rows(x: Tensor, scale: Tensor) -> Tensor:  # stepsmith: x[m, k], scale[m]
    return x * scale[:, None]


def outer_sum(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m], y[n]
    return x[:, None] + y[None, :]


def transpose_add(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m, n], y[n, m]
    return x.T + y


def swap_heads(x: Tensor) -> Tensor:
    # stepsmith: x[b, s, d]
    b, s, d = x.shape
    return x.view(b, s, 4, d // 4).transpose(1, 2) * 0.5


def join_columns(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m, k], y[m, n]
    return torch.cat([x, y], dim=1)


def shifted_difference(x: Tensor) -> Tensor:  # stepsmith: x[m, k]
    return x[:, 1:] - x[:, :-1]


def pairwise_distance(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m, d], y[n, d]
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)
