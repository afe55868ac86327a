import torch


def token_shift(x, mix):
    # x: (B, T, C), mix: (C,)
    prev = torch.zeros_like(x)
    prev[:, 1:] = x[:, :-1]
    return x * mix + prev * (1 - mix)
