import torch
from torch import nn


class SqueezeExcite1d(nn.Module):
    r"""Channel attention for sequences.

    Args:
        channels: number of channels :math:`C`
        reduction: ratio of the bottleneck

    Shape:
        - Input: :math:`(N, C, L)`
        - Output: :math:`(N, C, L)`, same shape as the input
    """

    def __init__(self, channels=32, reduction=4):
        super().__init__()
        self.fc = nn.Sequential(
            nn.Linear(channels, channels // reduction),
            nn.ReLU(),
            nn.Linear(channels // reduction, channels),
            nn.Sigmoid(),
        )

    def forward(self, x):
        gate = self.fc(x.mean(dim=-1))
        return x * gate.unsqueeze(-1)
