import torch


def precompute(head_dim, seq_len, base=10000.0):
    inv_freq = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    angles = torch.outer(torch.arange(seq_len).float(), inv_freq)
    return angles.cos(), angles.sin()


def apply_rope(q, k, cos, sin):
    # q, k: (batch, heads, seq, head_dim)
    def rotate(x):
        x1, x2 = x[..., 0::2], x[..., 1::2]
        out = torch.stack([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1)
        return out.flatten(-2)

    return rotate(q), rotate(k)


if __name__ == "__main__":
    B, H, T, D = 2, 8, 16, 64
    cos, sin = precompute(D, T)
    q, k = apply_rope(torch.randn(B, H, T, D), torch.randn(B, H, T, D), cos, sin)
    print(q.shape, k.shape)
