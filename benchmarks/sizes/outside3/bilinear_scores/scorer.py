import torch


def bilinear_attention(query, keys, values, W):
    scores = torch.einsum("bqd,de,bke->bqk", query, W, keys)
    probs = scores.softmax(dim=-1)
    return torch.einsum("bqk,bkv->bqv", probs, values), probs
