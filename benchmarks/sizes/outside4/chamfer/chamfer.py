"""Losses for point cloud completion."""
import torch


def chamfer_distance(p, q, squared=True):
    diff = p[:, :, None, :] - q[:, None, :, :]
    dist = diff.pow(2).sum(-1)
    if not squared:
        dist = (dist + 1e-12).sqrt()
    p_to_q = dist.min(dim=2).values.mean(dim=1)
    q_to_p = dist.min(dim=1).values.mean(dim=1)
    return (p_to_q + q_to_p).mean()
