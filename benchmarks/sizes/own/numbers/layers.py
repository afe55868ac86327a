import torch


def split_heads(x, num_heads):
    b, t, c = x.shape
    return x.view(b, t, num_heads, c // num_heads).permute(0, 2, 1, 3)
