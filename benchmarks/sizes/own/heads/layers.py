import torch


def multi_head(x, w_qkv, w_out, num_heads=4):
    """Multi-head self-attention.

    Args:
        x: input of shape (B, T, C)
        w_qkv: fused projection, (C, 3*C)
        w_out: output projection, (C, C)
        num_heads: number of heads

    Returns:
        (B, T, C)
    """
    B, T, C = x.shape
    q, k, v = (x @ w_qkv).split(C, dim=-1)
    q = q.view(B, T, num_heads, C // num_heads).transpose(1, 2)
    k = k.view(B, T, num_heads, C // num_heads).transpose(1, 2)
    v = v.view(B, T, num_heads, C // num_heads).transpose(1, 2)
    att = torch.softmax(q @ k.transpose(-2, -1) / (C // num_heads) ** 0.5, dim=-1)
    return (att @ v).transpose(1, 2).reshape(B, T, C) @ w_out
