import torch


def project(points, K, R, t):
    cam = points @ R.T + t
    uv = cam @ K.T
    return uv[:, :2] / uv[:, 2:3].clamp(min=1e-6)
