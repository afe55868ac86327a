import torch


def additive_attention(query, keys, wq, wk, v):
    q = torch.einsum("bd,da->ba", query, wq)
    k = torch.einsum("btd,da->bta", keys, wk)
    scores = torch.einsum("bta,a->bt", torch.tanh(q[:, None, :] + k), v)
    return torch.einsum("bt,btd->bd", scores.softmax(dim=1), keys)
