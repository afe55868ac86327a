# mypy: ignore-errors
"""Gates, routing and mixtures of experts."""

import torch
import torch.nn.functional as F
from torch import Tensor


def swiglu(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    # stepsmith: x[m, k], gate[k, h], up[k, h], down[h, k]
    return (F.silu(x @ gate) * (x @ up)) @ down


def geglu(x: Tensor) -> Tensor:  # stepsmith: x[m, k]
    first, second = x.chunk(2, dim=-1)
    return first * F.gelu(second)


def gated_sum(x: Tensor, y: Tensor, gate: Tensor) -> Tensor:  # stepsmith: x[m, k], y[m, k], gate[m, k]
    weight = torch.sigmoid(gate)
    return weight * x + (1 - weight) * y


def soft_mixture(x: Tensor, router: Tensor, experts: Tensor) -> Tensor:
    # stepsmith: x[m, k], router[k, e], experts[e, k, n]
    weights = torch.softmax(x @ router, dim=-1)
    return torch.einsum("me,mk,ekn->mn", weights, x, experts)


def top_gate(x: Tensor, router: Tensor) -> Tensor:  # stepsmith: x[m, k], router[k, e]
    scores = torch.softmax(x @ router, dim=-1)
    return torch.where(scores == scores.amax(-1, keepdim=True), scores, 0.0)


def top_two_gate(x: Tensor) -> Tensor:  # stepsmith: x[m, e]
    values, places = x.topk(2, dim=-1)
    return torch.zeros_like(x).scatter(-1, places, torch.softmax(values, dim=-1))
