# mypy: ignore-errors
"""Matrix products."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def matmul(x: Tensor, w: Tensor) -> Tensor:  # stepsmith: x[m, k], w[k, n]
    return x @ w


def matmul_transposed(x: Tensor, w: Tensor) -> Tensor:  # stepsmith: x[k, m], w[n, k]
    return x.T @ w.T


def matrix_vector(x: Tensor, v: Tensor) -> Tensor:  # stepsmith: x[m, k], v[k]
    return x @ v


def batched(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[b, m, k], y[b, k, n]
    return torch.bmm(x, y)


def linear_with_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # stepsmith: x[b, m, k], weight[n, k], bias[n]
    return F.linear(x, weight, bias)


def bilinear_form(x: Tensor, w: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[m, k], w[k, n], y[m, n]
    return torch.einsum("mk,kn,mn->m", x, w, y)


def contraction(x: Tensor, y: Tensor) -> Tensor:  # stepsmith: x[b, i, j], y[j, k]
    return torch.einsum("bij,jk->bik", x, y)


def linear_relu_scale(x: Tensor, w: Tensor) -> Tensor:  # stepsmith: x[m, k], w[k, n]
    return torch.relu(x @ w) * 0.1


class TwoLayers(nn.Module):
    """A perceptron with its own weights; sizes come from example inputs."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.relu(self.up(x)))


batch_size = 10


def get_inputs() -> list[Tensor]:
    return [torch.randn(batch_size, 6)]


def get_init_inputs() -> list[int]:
    return [6, 14]
