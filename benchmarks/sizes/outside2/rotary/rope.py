import torch


def apply_rotary(x, cos, sin):
    """Rotate the two halves of each head.

    Args:
        x: queries or keys [B, T, H, D]
        cos: cosine table [T, D/2]
        sin: sine table [T, D/2]
    """
    x1, x2 = x.chunk(2, dim=-1)
    cos = cos[None, :, None, :]
    sin = sin[None, :, None, :]
    return torch.cat([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1)
