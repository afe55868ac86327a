"""Loops over time, as people write them: in Python, with the cells of torch.nn, and with its recurrent layers."""

import torch
from torch import nn


def average(x):  # stepsmith: x[b, t, d]
    """Exponential moving average of every channel."""
    state = torch.zeros_like(x[:, 0])
    found = []
    for place in range(x.shape[1]):
        state = 0.9 * state + 0.1 * x[:, place]
        found.append(state)
    return torch.stack(found, 1)


def decayed(x, decay):  # stepsmith: x[b, t, d], decay[b, t, d]
    """Cumulative sum with a decay of its own at every step; the last state alone."""
    state = torch.zeros_like(x[:, 0])
    for place in range(x.shape[1]):
        state = decay[:, place] * state + x[:, place]
    return state


def elman(x, w, u, h):  # stepsmith: x[t, b, d], w[d, k], u[k, k], h[b, k]
    """A recurrent network with an initial state, time first; all states and the last one."""
    found = []
    for step in x:
        h = torch.tanh(step @ w + h @ u)
        found.append(h)
    return torch.stack(found), h


def linear_system(u, a, b, c):  # stepsmith: u[n, t], a[k, k], b[k], c[k]
    """A state-space model: x' = A x + B u, y = C x."""
    x = torch.zeros(u.shape[0], a.shape[0])
    found = []
    for place in range(u.shape[1]):
        x = x @ a.T + u[:, place, None] * b
        found.append(x @ c)
    return torch.stack(found, 1)


def written(x):  # stepsmith: x[b, t, d]
    """Results are written into their places, from the last step to the first."""
    out = torch.zeros_like(x)
    state = torch.zeros_like(x[:, 0])
    for place in reversed(range(x.shape[1])):
        state = torch.relu(x[:, place] - state)
        out[:, place] = state
    return out


def summed(x):  # stepsmith: x[b, 6, 3]
    """Every step adds up along the features, which no function of a Scan does here."""
    state = torch.zeros_like(x[:, 0])
    for place in range(6):
        state = torch.cumsum(state + x[:, place], 1)
    return state


def delayed(x):  # stepsmith: x[b, t, d]
    """A recurrence of second order: every state is made of the last two."""
    last = before = torch.zeros_like(x[:, 0])
    for place in range(x.shape[1]):
        before, last = last, 1.5 * last - 0.7 * before + x[:, place]
    return last


class Cells(nn.Module):
    """Two cells in one loop, the second reads the first."""

    def __init__(self):
        super().__init__()
        self.first = nn.GRUCell(4, 5)
        self.second = nn.LSTMCell(5, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x):  # stepsmith: x[b, t, 4]
        a = x.new_zeros(x.shape[0], 5)
        h = x.new_zeros(x.shape[0], 3)
        c = x.new_zeros(x.shape[0], 3)
        found = []
        for place in range(x.shape[1]):
            a = self.first(x[:, place], a)
            h, c = self.second(a, (h, c))
            found.append(self.head(h))
        return torch.stack(found, dim=1)


class Joined(nn.Module):
    """A cell of one's own: each round reads its input and the state as one row, through one layer."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(9, 5)

    def forward(self, x):  # stepsmith: x[t, 4]
        h = torch.zeros(5)
        for place in range(x.shape[0]):
            h = torch.tanh(self.cell(torch.cat((x[place], h))))
        return h


class JoinedBatch(nn.Module):
    """The same for a batch, all states, and the state first in the row."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(9, 5)

    def forward(self, x):  # stepsmith: x[b, t, 4]
        h = torch.zeros(x.shape[0], 5)
        found = []
        for place in range(x.shape[1]):
            h = torch.tanh(self.cell(torch.cat((h, x[:, place]), 1)))
            found.append(h)
        return torch.stack(found, 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(4, 6, batch_first=True)

    def forward(self, x):  # stepsmith: x[b, t, 4]
        return self.rnn(x)[0]


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 6, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, x):  # stepsmith: x[b, t, 4]
        return self.head(self.rnn(x)[0][:, -1])


class Layers(nn.Module):
    """Two layers of LSTM, time first, with all three results."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 6, num_layers=2)

    def forward(self, x):  # stepsmith: x[t, b, 4]
        out, (h, c) = self.rnn(x)
        return out, h, c


class Both(nn.Module):
    """Both directions, started from given states."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 3, batch_first=True, bidirectional=True)

    def forward(self, x, h):  # stepsmith: x[b, t, 4], h[2, b, 3]
        return self.rnn(x, h)


def stacked(x, w):  # stepsmith: x[5, b], w[5]
    """Equal steps that read nothing which goes with them: no loop over time."""
    for _ in range(5):
        x = torch.relu(x * w[0])
    return x
