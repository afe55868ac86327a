import torch
import torch.nn.functional as F


def modulated_norm(x, cond, proj):
    batch, length, channels = x.shape
    shift, scale = (F.silu(cond) @ proj).split(channels, dim=1)
    x = F.layer_norm(x, (channels,))
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)
