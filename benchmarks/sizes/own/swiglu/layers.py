import torch
import torch.nn.functional as F


def swiglu(x, w1, w2, w3):
    return (F.silu(x @ w1) * (x @ w3)) @ w2
