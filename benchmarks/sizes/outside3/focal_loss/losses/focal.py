import torch
import torch.nn.functional as F


def focal_loss(logits, targets, alpha, gamma=2.0):
    """Multi-class focal loss.

    logits: (N, C) unnormalised scores
    alpha: weight of each class
    """
    log_p = F.log_softmax(logits, dim=-1)
    log_pt = log_p.gather(1, targets.unsqueeze(1)).squeeze(1)
    pt = log_pt.exp()
    return (-alpha[targets] * (1 - pt) ** gamma * log_pt).mean()
