import torch


def soft_assign(x, centroids, beta=10.0):
    """
    One EM step of soft k-means.

    x: N x D data matrix
    centroids: K x D
    returns: responsibilities (N x K) and new centroids (K x D)
    """
    d = torch.cdist(x, centroids) ** 2
    resp = torch.softmax(-beta * d, dim=-1)
    new = resp.transpose(-1, -2) @ x / resp.sum(-2).unsqueeze(-1).clamp(min=1e-8)
    return resp, new
