import torch


def chamfer_distance(pc1, pc2, squared=True):
    """Symmetric Chamfer distance between two batches of point clouds.

    Args:
        pc1: (B, N, 3) predicted points
        pc2: (B, M, 3) ground truth points
    Returns:
        (B,) distances
    """
    d = torch.cdist(pc1, pc2)
    if squared:
        d = d ** 2
    return d.min(dim=2)[0].mean(dim=1) + d.min(dim=1)[0].mean(dim=1)
