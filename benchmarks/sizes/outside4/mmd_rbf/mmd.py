import torch


def _sq_dists(a, b):
    return torch.cdist(a, b).pow(2)


def mmd2(x, y, sigmas=(0.5, 1.0, 2.0)):
    """Biased estimate of the squared maximum mean discrepancy.

    x: N x D samples of the first distribution
    y: M x D samples of the second one
    sigmas: bandwidths of the Gaussian kernels
    """
    total = 0.0
    for s in sigmas:
        g = -0.5 / s ** 2
        total = total + torch.exp(g * _sq_dists(x, x)).mean()
        total = total + torch.exp(g * _sq_dists(y, y)).mean()
        total = total - 2 * torch.exp(g * _sq_dists(x, y)).mean()
    return total
