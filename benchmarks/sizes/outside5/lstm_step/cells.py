import torch


def lstm_cell(x, h, c, w_ih, w_hh, b_ih):
    batch, hidden = h.shape
    gates = torch.addmm(b_ih, x, w_ih.t()) + torch.mm(h, w_hh.t())
    i, f, g, o = gates.view(batch, 4, hidden).unbind(1)
    c_next = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h_next = torch.sigmoid(o) * torch.tanh(c_next)
    return h_next, c_next
