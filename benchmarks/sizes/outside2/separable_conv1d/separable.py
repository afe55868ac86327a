import torch
import torch.nn.functional as F


def separable_conv(x, depthwise, pointwise, gate):
    y = F.conv1d(x, depthwise, padding=2, groups=x.shape[1])
    y = F.conv1d(F.gelu(y), pointwise)
    b, d, t = gate.shape
    assert y.shape == (b, d, t)
    return y * torch.sigmoid(gate)
