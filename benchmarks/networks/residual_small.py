# mypy: ignore-errors
"""A residual network of basic blocks, after He et al. (2015), at the size of small images."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width_in, width, stride):
        super().__init__()
        self.first = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(width)
        self.shortcut = nn.Identity()
        if stride != 1 or width_in != width:
            self.shortcut = nn.Sequential(nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        out = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(out)) + self.shortcut(x))


class Model(nn.Module):
    def __init__(self, widths, blocks, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        parts = []
        before = widths[0]
        for number, width in enumerate(widths):
            for block in range(blocks):
                parts.append(Block(before, width, 2 if number and not block else 1))
                before = width
        self.parts = nn.Sequential(*parts)
        self.head = nn.Linear(before, classes)

    def forward(self, x):
        return self.head(self.parts(self.stem(x)).mean((2, 3)))


def get_inputs():
    return [torch.randn(4, 3, 32, 32)]


def get_init_inputs():
    return [(16, 32, 64), 3, 10]
