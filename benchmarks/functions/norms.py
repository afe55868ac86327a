# mypy: ignore-errors
"""Normalizations, as functions and as modules with weights."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:  # stepsmith: x[m, k], gamma[k], beta[k]
    return F.layer_norm(x, (x.shape[-1],), gamma, beta)


def rms_norm(x: Tensor, gamma: Tensor) -> Tensor:  # stepsmith: x[m, k], gamma[k]
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * gamma


def instance_norm(x: Tensor) -> Tensor:  # stepsmith: x[n, c, h, w]
    return F.instance_norm(x)


def group_norm(x: Tensor) -> Tensor:  # stepsmith: x[n, 8, h, w]
    return F.group_norm(x, 4)


def batch_norm(x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:  # stepsmith: x[n, c, h], mean[c], variance[c]
    return F.batch_norm(x, mean, variance.abs())


def l2_normalize(x: Tensor) -> Tensor:  # stepsmith: x[m, k]
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)


class TrainedBatchNorm(nn.Module):
    """Batch statistics, as in training."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(6)

    def forward(self, x: Tensor) -> Tensor:  # stepsmith: x[n, 6, h, w]
        return self.norm(x)
