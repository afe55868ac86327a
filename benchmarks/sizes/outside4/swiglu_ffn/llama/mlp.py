import torch.nn.functional as F


def swiglu(x, w_gate, w_up, w_down):
    gate = F.linear(x, w_gate)      # [B, T, D] -> [B, T, F]
    up = F.linear(x, w_up)          # [B, T, D] -> [B, T, F]
    h = F.silu(gate) * up           # [B, T, F]
    return F.linear(h, w_down)      # [B, T, F] -> [B, T, D]
