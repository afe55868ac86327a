import torch


def lstm_step(x, h, c, w_ih, w_hh):
    batch, hidden = h.shape
    gates = torch.mm(x, w_ih.t()) + torch.mm(h, w_hh.t())
    i, f, g, o = gates.view(batch, 4, hidden).unbind(1)
    c = torch.sigmoid(f) * c.view(batch, hidden) + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
