import torch


def mahalanobis_sq(x, mu, precision):
    """Squared Mahalanobis distance of every sample to every mixture component.

    :param x: samples, ``(n, d)``
    :param mu: component means, ``(k, d)``
    :param precision: inverse covariances, ``(k, d, d)``
    :return: distances, ``(n, k)``
    """
    diff = x.unsqueeze(1) - mu
    return torch.einsum("nkd,kde,nke->nk", diff, precision, diff)
