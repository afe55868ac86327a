import torch


def masked_softmax(scores, mask):
    """Softmax of scores (B, H, T, T) where mask (T, T), boolean, is true."""
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
