"""A module as collections write them: sizes by name, get_inputs(), several lines that become one operator."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.conv = nn.Conv3d(3, channels, 3)
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        x = self.conv(x)
        x = x * torch.sigmoid(x)
        x = self.norm(x)
        return x.mean(dim=[1, 2, 3, 4])


batch_size = 4
depth, height, width = 12, 16, 16


def get_inputs():
    return [torch.randn(batch_size, 3, depth, height, width)]


def get_init_inputs():
    return [8, 4]
