import math

import torch


def responsibilities(x, means, log_vars, log_weights):
    diff = x[:, None, :] - means[None]
    maha = (diff ** 2 * torch.exp(-log_vars)).sum(-1)
    log_prob = -0.5 * (maha + log_vars.sum(-1) + x.shape[1] * math.log(2 * math.pi))
    return torch.softmax(log_prob + log_weights, dim=1)
