"""Modules that keep something between calls, or hold more than parameters."""

import torch
from torch import nn


class Normed(nn.Module):
    """A batch norm in training mode: its running statistics are read by nobody."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):  # stepsmith: x[n, 6]
        return self.norm(self.linear(x))


class Averaging(nn.Module):
    """A batch norm whose running statistics are plain means: each call reads how many batches there were."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6, momentum=None)

    def forward(self, x):  # stepsmith: x[n, 6]
        return self.norm(x)


class Remembering(nn.Module):
    """A recurrent cell whose state is a plain attribute that each call replaces."""

    def __init__(self):
        super().__init__()
        self.hidden = torch.randn(3, 5)
        self.cell = nn.Linear(9, 5)

    def forward(self, x):  # stepsmith: x[3, 4]
        self.hidden = torch.tanh(self.cell(torch.cat((x, self.hidden), 1)))
        return self.hidden @ torch.ones(5, 2)


class Tabled(nn.Module):
    """A table that is neither parameter nor buffer, in a part of the module."""

    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(4, 3))
        self.parts[0].table = torch.randn(3, 2)

    def forward(self, x):  # stepsmith: x[n, 4]
        return self.parts(x) @ self.parts[0].table


class Derived(nn.Module):
    """Holds a tensor that cannot be copied: it was computed from a parameter."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4))
        self.doubled = self.scale * 2
        self.last = None

    def forward(self, x):  # stepsmith: x[n, 4]
        y = x * self.scale if self.last is None else x * self.last
        self.last = y.sum()
        return y


class Counting(nn.Module):
    """Fills a list with what its calls computed."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):  # stepsmith: x[m, n]
        self.seen.append(x.mean())
        return x + len(self.seen)
