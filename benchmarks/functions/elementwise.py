# ruff: noqa: F722
# mypy: ignore-errors
"""Elementwise functions and activations. Sizes: jaxtyping annotations, read as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float


def add_scaled(x: Float[Tensor, "m n"], y: Float[Tensor, "m n"]) -> Tensor:
    return 2.5 * x + y


def relu(x: Float[Tensor, "b n d"]) -> Tensor:
    return F.relu(x)


def gelu(x: Float[Tensor, "m n"]) -> Tensor:
    return F.gelu(x)


def gelu_tanh(x: Float[Tensor, "m n"]) -> Tensor:
    return F.gelu(x, approximate="tanh")


def silu(x: Float[Tensor, "m n"]) -> Tensor:
    return x * torch.sigmoid(x)


def softplus(x: Float[Tensor, "m n"]) -> Tensor:
    return F.softplus(x)


def mish(x: Float[Tensor, "m n"]) -> Tensor:
    return F.mish(x)


def hard_swish(x: Float[Tensor, "m n"]) -> Tensor:
    return F.hardswish(x)


def leaky_clamp(x: Float[Tensor, "m n"]) -> Tensor:
    return F.leaky_relu(x, 0.1).clamp(-1.0, 2.0)


def polynomial(x: Float[Tensor, " n"]) -> Tensor:
    return 1 + x * (0.5 + x * (0.25 - x))


cube = lambda x: x * x * x  # noqa: E731 - stepsmith: x[m, n]
