import torch


def project(points, R, t, K):
    cam = points @ R.T + t
    depth = cam[:, 2].clamp(min=1e-4)
    fx, fy = K[0, 0], K[1, 1]
    cx, cy = K[0, 2], K[1, 2]
    u = fx * cam[:, 0] / depth + cx
    v = fy * cam[:, 1] / depth + cy
    return torch.stack([u, v], dim=-1), depth
