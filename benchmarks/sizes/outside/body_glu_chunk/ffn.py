import torch
import torch.nn.functional as F


def swiglu(x, gate_up, down):
    tokens, dim = x.shape
    gate, up = torch.mm(x, gate_up).chunk(2, dim=1)
    return torch.mm(F.silu(gate) * up, down)
