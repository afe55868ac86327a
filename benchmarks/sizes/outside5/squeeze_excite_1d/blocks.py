import torch
from torch import nn


class SEBlock1d(nn.Module):
    r"""Squeeze-and-excitation for one dimensional signals such as ECG.

    Args:
        channels: number of channels :math:`C`. Default: 64
        reduction: ratio of the bottleneck. Default: 8

    Shape:
        - Input: :math:`(N, C, L)`
        - Output: :math:`(N, C, L)` (same shape as input)

    Examples::

        >>> se = SEBlock1d()
        >>> out = se(torch.randn(4, 64, 500))
    """

    def __init__(self, channels=64, reduction=8):
        super().__init__()
        self.fc1 = nn.Linear(channels, channels // reduction)
        self.fc2 = nn.Linear(channels // reduction, channels)

    def forward(self, x):
        s = x.mean(dim=-1)
        s = torch.relu(self.fc1(s))
        s = torch.sigmoid(self.fc2(s))
        return x * s.unsqueeze(-1)
