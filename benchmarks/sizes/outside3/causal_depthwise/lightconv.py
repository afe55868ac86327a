import torch
import torch.nn.functional as F


def causal_depthwise(x, weight):
    """Lightweight convolution that never looks into the future."""
    _, channels, _ = x.shape
    kernel_size = weight.shape[1]
    weight = F.softmax(weight, dim=-1)
    x = F.pad(x, (kernel_size - 1, 0))
    return F.conv1d(x, weight.unsqueeze(1), groups=channels)
