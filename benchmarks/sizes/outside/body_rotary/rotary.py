import torch


def apply_rotary(x, cos, sin):
    b, t, h, d = x.shape
    half = d // 2
    x1, x2 = x[..., :half], x[..., half:]
    cos = cos.view(1, t, 1, half)
    sin = sin.view(1, t, 1, half)
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1)
