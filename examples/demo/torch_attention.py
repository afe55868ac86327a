"""Attention of one head as PyTorch users write it. `make demo` turns it into a STeP program."""

from math import sqrt

import torch


def attention(q, k, v):
    """stepsmith: q[M, D], k[N, D], v[N, D]"""
    scores = q @ k.T / sqrt(q.shape[-1])
    return torch.softmax(scores, dim=-1) @ v
