# mypy: ignore-errors
"""Losses."""

import torch
import torch.nn.functional as F
from torch import Tensor


def squared_error(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m, k], y[m, k]
    return F.mse_loss(x, y)


def huber(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m, k], y[m, k]
    return F.smooth_l1_loss(x, y)


def hinge(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m], y[m]
    return torch.clamp(1 - x * y, min=0).mean()


def cosine_similarity(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m, k], y[m, k]
    return F.cosine_similarity(x, y, dim=-1)


def divergence(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m, k], y[m, k]
    return F.kl_div(F.log_softmax(x, -1), torch.softmax(y, -1), reduction="batchmean")


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:  # stepsmith: logits[m, k], target[m] int64
    return F.cross_entropy(logits, target)
