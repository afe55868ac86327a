import torch


def warp_points(pts, H):
    """Map pixel coordinates (N x 2, x before y) by a homography."""
    ones = torch.ones(pts.shape[0], 1)
    homog = torch.cat([pts, ones], dim=1) @ H.t()
    return homog[:, :2] / (homog[:, 2:3] + 1e-8)


def reprojection_error(src, dst, H):
    return (warp_points(src, H) - dst).norm(dim=1)
