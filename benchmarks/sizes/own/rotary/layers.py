import torch


def rotary(x, cos, sin):
    """Rotary position embedding.

    x is a tensor of shape [B, H, T, D]; cos and sin are [T, D].
    """
    half = x.shape[-1] // 2
    rotated = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + rotated * sin
