"""A layer with a mixture of experts as PyTorch users write it. `stepsmith synth` makes a routed program of it."""

import torch
from torch.nn.functional import silu


def layer(x, router, gate, up, down):
    """stepsmith: x[T, D], router[E, D], gate[E, F, D], up[E, F, D], down[E, F, D]"""
    scores = torch.softmax(x @ router.T, dim=-1)
    weight, chosen = torch.topk(scores, 2, dim=-1)
    weight = weight / weight.sum(-1, keepdim=True)
    share = torch.zeros_like(scores).scatter(1, chosen, weight)  # 0 for experts that were not chosen
    hidden = silu(torch.einsum("td,efd->etf", x, gate)) * torch.einsum("td,efd->etf", x, up)
    return x + torch.einsum("te,etd->td", share, torch.einsum("etf,efd->etd", hidden, down))
