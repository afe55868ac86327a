import torch


def bilinear(x, w, y):
    # (m, k) @ (k, n) @ (n, p): scores of all pairs
    return x @ w @ y.T
