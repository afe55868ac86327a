import torch


def sinkhorn(cost, a, b, eps=0.1, n_iter=20):
    """Log-domain Sinkhorn, returns the transport plan."""
    log_k = -cost / eps
    f = torch.zeros_like(a)
    g = torch.zeros_like(b)
    log_a, log_b = a.clamp_min(1e-12).log(), b.clamp_min(1e-12).log()
    for _ in range(n_iter):
        f = log_a - torch.logsumexp(log_k + g.unsqueeze(-2), dim=-1)
        g = log_b - torch.logsumexp(log_k + f.unsqueeze(-1), dim=-2)
    return torch.exp(f.unsqueeze(-1) + log_k + g.unsqueeze(-2))
