import torch


def dense(x, w, bias):
    batch, d_in = x.shape
    d_in, d_out = w.shape
    return torch.addmm(bias.view(1, d_out), x, w).relu()
