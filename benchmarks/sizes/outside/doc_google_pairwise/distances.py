import torch


def pairwise_sq_dist(a, b):
    """Squared euclidean distances between two sets of points.

    Args:
        a (torch.Tensor): Points of shape (N, D).
        b (torch.Tensor): Points of shape (M, D).

    Returns:
        torch.Tensor: Distances of shape (N, M).
    """
    a2 = (a * a).sum(-1, keepdim=True)
    b2 = (b * b).sum(-1)
    return a2 + b2 - 2 * a @ b.T
