import torch


def score(head, core, tail):
    out = torch.einsum("bi,irj,bj->br", head, core, tail)
    return torch.log_softmax(out, dim=-1)
