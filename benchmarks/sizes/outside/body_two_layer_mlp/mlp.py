import torch
import torch.nn.functional as F


def mlp(x, w1, b1, w2, b2):
    n, d = x.size()
    h = F.gelu(torch.mm(x, w1.t()) + b1.expand(n, w1.size(0)))
    return torch.mm(h, w2.t()) + b2.expand(n, w2.size(0))
