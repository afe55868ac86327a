import torch
import torch.nn.functional as F


def highway(x, w_h, b_h, w_t, b_t):
    h = torch.relu(F.linear(x, w_h, b_h))
    t = torch.sigmoid(F.linear(x, w_t, b_t))
    return t * h + (1 - t) * x
