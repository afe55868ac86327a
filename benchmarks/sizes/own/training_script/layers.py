import torch


def loss(logits, target):
    logp = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    return -logp.gather(-1, target.unsqueeze(-1)).mean()
