# mypy: ignore-errors
"""Functions that can be taken, in all the ways that files write them."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def affine(x: Tensor, w: Tensor) -> Tensor:  # stepsmith: x[m, k], w[k, n]
    return F.relu(x @ w)


def halves(x: Tensor) -> Tensor:
    """Gate one half with the other.

    stepsmith: x[m, k]
    """
    first, second = x.chunk(2, -1)
    return F.silu(first) * second


def scaled(x, factor: float = 0.5, *, shift: float = 1.0):  # stepsmith: x[m]
    return x * factor + shift


def per_head(x):  # stepsmith: x[b, s, d]
    b, s, d = x.shape
    return x.view(b, s, 4, d // 4).transpose(1, 2) / math.sqrt(d // 4)


def attend(q, k, v):  # stepsmith: q[b, s, d], k[b, t, d], v[b, t, d]
    return F.scaled_dot_product_attention(q, k, v)


def windows(x, w):  # stepsmith: x[n, c, h, l], w[d, c, 3, 3]
    return F.max_pool2d(F.conv2d(x, w, stride=2, padding=1), 2).flatten(1)


def rounds(x):  # stepsmith: x[m, k]
    result = x[0]
    for row in range(1, x.shape[0]):
        result = torch.maximum(result, x[row])
    return result


def speaks(x):  # stepsmith: x[m]
    print("a message")
    return x + 1


def overwrites(x):  # stepsmith: x[m]
    x.add_(1)
    return x * 2


def masked(x):  # stepsmith: x[m, 4]
    mask = torch.ones(4, 4).tril()
    return x @ mask


square = lambda x: x * x  # noqa: E731 - stepsmith: x[m]


class Gate(nn.Module):
    """A module with a weight, a buffer, and methods."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 6)
        self.norm = nn.BatchNorm1d(6)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.norm(self.up(x)))

    def raised(self, x: Tensor) -> Tensor:  # stepsmith: x[m, 4]
        return self.up(x)

    @staticmethod
    def doubled(x: Tensor) -> Tensor:  # stepsmith: x[m]
        return 2 * x


rows = 8


def get_inputs():
    return [torch.rand(rows, 4)]


def get_init_inputs():
    return [4]
