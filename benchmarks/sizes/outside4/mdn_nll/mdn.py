import math

import torch
import torch.nn.functional as F


def mdn_nll(pi_logits, mu, log_sigma, target):
    b, k, d = mu.shape
    assert log_sigma.shape == mu.shape
    t = target.unsqueeze(1).expand(b, k, d)
    z = (t - mu) * torch.exp(-log_sigma)
    log_prob = (-0.5 * z ** 2 - log_sigma - 0.5 * math.log(2 * math.pi)).sum(-1)
    log_pi = F.log_softmax(pi_logits, dim=1)
    return -torch.logsumexp(log_pi + log_prob, dim=1).mean()
