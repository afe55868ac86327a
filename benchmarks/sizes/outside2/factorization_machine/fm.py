import torch


def fm(x, w0, w, v):
    linear = w0 + torch.mv(x, w)
    xv = x @ v
    pair = 0.5 * (xv.pow(2) - x.pow(2) @ v.pow(2)).sum(dim=1)
    return linear + pair
