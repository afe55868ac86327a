import torch


def sinkhorn(cost, a, b, reg=0.1, n_iter=20):
    log_k = -cost / reg
    f, g = torch.zeros_like(a), torch.zeros_like(b)
    for _ in range(n_iter):
        f = torch.log(a) - torch.logsumexp(log_k + g.unsqueeze(-2), dim=-1)
        g = torch.log(b) - torch.logsumexp(log_k + f.unsqueeze(-1), dim=-2)
    return torch.exp(log_k + f.unsqueeze(-1) + g.unsqueeze(-2))
