import torch
import torch.nn.functional as F

N_HEAD = 4


def self_attention(x, w_qkv, w_o):
    B, T, C = x.size()
    q, k, v = (x @ w_qkv).split(C, dim=2)
    q = q.view(B, T, N_HEAD, C // N_HEAD).transpose(1, 2)
    k = k.view(B, T, N_HEAD, C // N_HEAD).transpose(1, 2)
    v = v.view(B, T, N_HEAD, C // N_HEAD).transpose(1, 2)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = y.transpose(1, 2).contiguous().view(B, T, C)
    return y @ w_o
