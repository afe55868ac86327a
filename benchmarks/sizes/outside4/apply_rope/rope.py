import torch


def _rotate(x, cos, sin):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1)


def apply_rope(q, k, cos, sin):
    bsz, n_heads, seq_len, head_dim = q.shape
    cos = cos.view(1, 1, seq_len, head_dim // 2)
    sin = sin.view(1, 1, seq_len, head_dim // 2)
    return _rotate(q, cos, sin), _rotate(k, cos, sin)
