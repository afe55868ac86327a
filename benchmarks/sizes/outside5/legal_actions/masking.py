import torch


def masked_log_softmax(scores, mask, fill=-1e4):
    scores = torch.where(mask, scores, torch.full_like(scores, fill))
    return scores - scores.logsumexp(dim=-1, keepdim=True)
