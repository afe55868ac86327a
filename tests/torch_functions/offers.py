"""Functions for which the lowering should not do more than it must."""

import torch
import torch.nn.functional as F
from torch import nn

HALF = torch.tensor(0.125)


def doubled(x):  # stepsmith: x[m, n]
    return x * 2 + 1


def running(x):  # stepsmith: x[b, 6, d]
    state = torch.zeros_like(x[:, 0])
    found = []
    for place in range(6):
        state = state * 0.5 + x[:, place]
        found.append(state)
    return torch.stack(found, 1)


def scaled(x):  # stepsmith: x[m, n]
    return torch.softmax(x * torch.tensor(0.25), 1) * HALF


def ramped(x):  # stepsmith: x[m, 4]
    steps = torch.cat((torch.arange(2) * 0.5, torch.cumsum(torch.ones(2), 0)))
    return x * steps


def sized(x):  # stepsmith: x[m, n]
    return x * torch.full((3,), x.shape[0]).sum()


def top(x):  # stepsmith: x[m, n]
    return x.max(1)[0] - x.min(1).values


def place(x):  # stepsmith: x[m, n]
    return x.max(1).indices


def highest(x):  # stepsmith: x[m, n]
    return torch.cummax(x, 1).values


class Biased(nn.Module):
    """A bias for each channel, which two passes over the places of an image read."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x):  # stepsmith: x[b, 3, 5, 5]
        return self.norm(torch.relu(self.conv(x)))
