import math
import torch.nn.functional as F


def attention(q, k, v):
    """Plain softmax attention.

    Args:
        q: Queries, shape ``(B, H, L, D)``.
        k: Keys, shape ``(B, H, S, D)``.
        v: Values, shape ``(B, H, S, E)``.

    Returns:
        Tensor of shape ``(B, H, L, E)``.
    """
    w = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
    return F.softmax(w, dim=-1) @ v
