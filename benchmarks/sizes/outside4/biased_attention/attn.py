import torch


def biased_attention(q, k, v, bias):
    """
    Attention with an additive position bias (T5 style).

    q: (B, H, T, D)
    k, v: (B, H, S, D)
    bias: (H, T, S), shared by all samples

    returns (B, H, T, D)
    """
    scale = q.shape[-1] ** -0.5
    scores = q @ k.transpose(-2, -1) * scale
    return torch.softmax(scores + bias, dim=-1) @ v
