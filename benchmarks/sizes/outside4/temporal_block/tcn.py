import torch
import torch.nn.functional as F


def temporal_block(x, weight, bias, dilation=2):
    # conv1d wants channels first: (B, T, C) -> (B, C, T)
    x = x.permute(0, 2, 1)
    # weight is (C_out, C, K), causal padding on the left only
    pad = (weight.shape[-1] - 1) * dilation
    x = F.pad(x, (pad, 0))
    y = F.conv1d(x, weight, bias, dilation=dilation)
    y = F.gelu(y)
    # back to (B, T, C_out)
    return y.permute(0, 2, 1)
