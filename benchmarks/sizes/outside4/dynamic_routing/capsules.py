import torch


def squash(s, dim=-1, eps=1e-8):
    sq = (s * s).sum(dim=dim, keepdim=True)
    return sq / (1 + sq) * s / (sq + eps).sqrt()


def dynamic_routing(u, W, n_iter=3):
    u_hat = torch.einsum("bid,ijde->bije", u, W)
    logits = torch.zeros(u_hat.shape[:3])
    for _ in range(n_iter):
        c = logits.softmax(dim=2)
        v = squash((c.unsqueeze(-1) * u_hat).sum(dim=1))
        logits = logits + (u_hat * v.unsqueeze(1)).sum(-1)
    return v
