import torch


def transform_points(points, rot, trans):
    # points [B, N, 3], rot [B, 3, 3], trans [B, 3]
    moved = torch.bmm(points, rot.transpose(1, 2))
    return moved + trans[:, None, :]
