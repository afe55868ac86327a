import torch


def lstm_step(x, h, c, w_ih, w_hh, bias):
    hidden = h.size(1)
    gates = x @ w_ih.t() + h @ w_hh.t() + bias
    i, f, g, o = gates.split(hidden, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    return h, c
