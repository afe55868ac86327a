import torch
import torch.nn.functional as F


def swiglu(x, w_in, w_out):
    b, t, c = x.shape
    gate, up = (x.reshape(b * t, c) @ w_in).chunk(2, dim=1)
    y = (F.silu(gate) * up) @ w_out
    return x + y.view(b, t, c)
