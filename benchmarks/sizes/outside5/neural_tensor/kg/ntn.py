import torch
import torch.nn.functional as F


def ntn_score(head, tail, W, V, bias, u):
    bilinear = torch.einsum("bi,kij,bj->bk", head, W, tail)
    linear = F.linear(torch.cat([head, tail], dim=1), V, bias)
    return torch.mv(torch.tanh(bilinear + linear), u)
