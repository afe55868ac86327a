import math

import torch
import torch.nn as nn


class LSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super(LSTMCell, self).__init__()
        self.hidden_size = hidden_size
        self.x2h = nn.Linear(input_size, 4 * hidden_size)
        self.h2h = nn.Linear(hidden_size, 4 * hidden_size)
        self.ln = nn.LayerNorm(hidden_size)
        self.reset_parameters()

    def reset_parameters(self):
        std = 1.0 / math.sqrt(self.hidden_size)
        for w in self.parameters():
            w.data.uniform_(-std, std)

    def forward(self, x, state):
        hx, cx = state
        gates = self.x2h(x) + self.h2h(hx)
        ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
        ingate = torch.sigmoid(ingate)
        forgetgate = torch.sigmoid(forgetgate + 1.0)
        cellgate = torch.tanh(cellgate)
        outgate = torch.sigmoid(outgate)
        cy = torch.mul(cx, forgetgate) + torch.mul(ingate, cellgate)
        hy = torch.mul(outgate, torch.tanh(self.ln(cy)))
        return hy, cy


class Model(nn.Module):
    def __init__(self, input_dim=8, hidden_dim=16, layer_dim=3, output_dim=4):
        super(Model, self).__init__()
        self.hidden_dim = hidden_dim
        self.layers = nn.ModuleList([LSTMCell(input_dim if i == 0 else hidden_dim, hidden_dim) for i in range(layer_dim)])
        self.fc1 = nn.Linear(hidden_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        batch, steps, _ = x.shape
        seq = [x[:, t, :] for t in range(steps)]
        for layer in self.layers:
            h = x.new_zeros(batch, self.hidden_dim)
            c = x.new_zeros(batch, self.hidden_dim)
            outs = []
            for inp in seq:
                h, c = layer(inp, (h, c))
                outs.append(h)
            seq = outs
        return self.fc2(torch.relu(self.fc1(seq[-1])))


def get_inputs():
    return [torch.randn(2, 6, 8)]
