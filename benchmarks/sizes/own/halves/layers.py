import torch


def glu(x):
    """Gated linear unit of x (N, 2D); returns (N, D)."""
    a, b = x.chunk(2, dim=-1)
    return a * torch.sigmoid(b)
