import torch


def correlate(a, b):
    assert a.shape == b.shape and a.dim() == 4
    n, c = a.shape[:2]
    a, b = a.reshape(n, c, -1), b.reshape(n, c, -1)
    return (a * b).sum(-1)
