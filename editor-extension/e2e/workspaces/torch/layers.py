"""Functions that make it hard: without sizes, without a lowering, without an end."""

import torch


def gated(x, gate):
    return x * torch.sigmoid(gate)


def spectrum(x):  # x[M, K]
    scaled = x * 2
    return torch.linalg.svd(scaled)[1]


def endless(x):  # x[M, K]
    while True:
        x = x + 1


def projected(x, w):
    """Project the rows of x (n, d) by w (d, k)."""
    return torch.relu(x @ w)


SCALE = 2.0
