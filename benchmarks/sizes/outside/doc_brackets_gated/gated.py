import torch


def glu_mlp(x, w_in, w_out):
    """Gated MLP. x: [B, D], w_in: [2*F, D], w_out: [D, F] -> [B, D]"""
    a, g = (x @ w_in.t()).chunk(2, dim=-1)
    return (a * torch.sigmoid(g)) @ w_out.t()
