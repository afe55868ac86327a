"""A PyTorch function. Stepsmith writes a streaming program that computes the same, and verifies it."""

import torch


# stepsmith: x[m, k], w[k, n]
def layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ w)
