import torch
import torch.nn.functional as F


def additive_attention(query, keys, W_q, W_k, v):
    """Bahdanau attention over the encoder states."""
    q = (query @ W_q).unsqueeze(1)
    k = keys @ W_k
    scores = torch.tanh(q + k) @ v
    alpha = F.softmax(scores, dim=1)
    context = torch.bmm(alpha.unsqueeze(1), keys).squeeze(1)
    return context, alpha
