import math

import torch


def cross_attend(
    q,     # (B, H, T, D)
    k,     # (B, H, S, D)
    v,     # (B, H, S, D)
    mask,  # (B, S) bool, True where the memory is padding
):
    att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
    att = att.masked_fill(mask[:, None, None, :], -1e9)
    att = att.softmax(dim=-1)
    return att @ v  # (B, H, T, D)
