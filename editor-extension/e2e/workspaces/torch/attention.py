"""Attention of one head, as users of PyTorch write it."""

from math import sqrt

import torch


# stepsmith: q[M, D], k[N, D], v[N, D]
def attention(q, k, v):
    scores = q @ k.T / sqrt(q.shape[-1])
    return torch.softmax(scores, dim=-1) @ v
