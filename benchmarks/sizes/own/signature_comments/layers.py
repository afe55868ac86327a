import torch


def gate(
    x,  # (B, T, C)
    w,  # (C, H)
    v,  # (C, H)
):
    return torch.sigmoid(x @ w) * (x @ v)
