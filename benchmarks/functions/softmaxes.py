# mypy: ignore-errors
"""Softmax in its forms."""

import torch
import torch.nn.functional as F
from torch import Tensor


def softmax(x: Tensor) -> Tensor:  # stepsmith: x[m, k]
    return torch.softmax(x, dim=-1)


def softmax_of_columns(x: Tensor) -> Tensor:  # stepsmith: x[m, k]
    return torch.softmax(x, dim=0)


def log_softmax(x: Tensor) -> Tensor:  # stepsmith: x[m, k]
    return F.log_softmax(x, dim=-1)


def softmax_by_hand(x: Tensor) -> Tensor:  # stepsmith: x[m, k]
    shifted = x - x.max(dim=-1, keepdim=True).values
    weights = torch.exp(shifted)
    return weights / weights.sum(dim=-1, keepdim=True)


def masked_softmax(x: Tensor, mask: Tensor) -> Tensor:  # stepsmith: x[m, k], mask[m, k] bool
    return torch.softmax(x.masked_fill(mask, -1e9), dim=-1)
