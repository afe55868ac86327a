"""Modules whose work is large at the sizes that a trace takes, and small at others."""

import torch
from torch import nn


class Even(nn.Module):
    """The stride divides every size of the result."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose3d(12, 10, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):  # stepsmith: x[n, 12, d, s, s]
        return torch.relu(self.up(x)) * 0.5


class Odd(nn.Module):
    """The stride divides no size of the result."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose3d(12, 10, 3, stride=2, padding=1)

    def forward(self, x):  # stepsmith: x[n, 12, d, s, s]
        return self.up(x)


class Wide(nn.Module):
    """Too large at any size of its batch."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(64, 64, 3)

    def forward(self, x):  # stepsmith: x[n, 64, 80, 80]
        return self.conv(x)


class Heavy(nn.Module):
    """A weight of more than four million numbers."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2100, 2100, bias=False)

    def forward(self, x):  # stepsmith: x[n, 2100]
        return self.linear(x)
