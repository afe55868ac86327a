import math

import torch


def relative_scores(q, k, rel_emb):
    # q, k:    (B, H, T, D)
    # rel_emb: (2T - 1, D), from distance -(T - 1) to T - 1
    T, D = q.shape[-2:]
    pos = torch.arange(T)
    dist = pos[None, :] - pos[:, None] + T - 1
    r = rel_emb[dist]  # (T, T, D)
    content = q @ k.transpose(-2, -1)
    position = torch.einsum("bhid,ijd->bhij", q, r)
    return (content + position) / math.sqrt(D)
