# mypy: ignore-errors
"""Convolution and pooling."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def conv1d(x: Tensor, w: Tensor) -> Tensor:  # stepsmith: x[n, c, l], w[d, c, 3]
    return F.conv1d(x, w, padding=1)


def conv2d(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:  # stepsmith: x[n, c, h, w], w[d, c, 3, 3], bias[d]
    return F.conv2d(x, w, bias)


def strided_conv2d(x: Tensor, w: Tensor) -> Tensor:  # stepsmith: x[n, c, h, w], w[d, c, 3, 3]
    return F.conv2d(x, w, stride=2, padding=1)


def depthwise_conv2d(x: Tensor, w: Tensor) -> Tensor:  # stepsmith: x[n, 6, h, w], w[6, 1, 3, 3]
    return F.conv2d(x, w, groups=6)


def transposed_conv1d(x: Tensor, w: Tensor) -> Tensor:  # stepsmith: x[n, c, l], w[c, d, 4]
    return F.conv_transpose1d(x, w, stride=2)


def max_pool2d(x: Tensor) -> Tensor:  # stepsmith: x[n, c, h, w]
    return F.max_pool2d(x, 2)


def average_pool1d(x: Tensor) -> Tensor:  # stepsmith: x[n, c, l]
    return F.avg_pool1d(x, 4, stride=2)


def global_average(x: Tensor) -> Tensor:  # stepsmith: x[n, c, h, w]
    return F.adaptive_avg_pool2d(x, 1)


class ConvReluPool(nn.Module):
    """A convolution of its own weights, an activation and a pool."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(torch.relu(self.conv(x)), 2)


def get_inputs() -> list[Tensor]:
    return [torch.rand(2, 3, 10, 10)]
