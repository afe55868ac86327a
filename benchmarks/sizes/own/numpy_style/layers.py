import torch


def pairwise(x, y):
    """Squared distances.

    Parameters
    ----------
    x : torch.Tensor, shape (n, d)
        Points.
    y : torch.Tensor, shape (m, d)
        Other points.

    Returns
    -------
    torch.Tensor, shape (n, m)
    """
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)
