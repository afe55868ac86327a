import torch


def gram(X):
    r"""Gram matrix of :math:`X \in \mathbb{R}^{n \times d}`."""
    return X @ X.T
