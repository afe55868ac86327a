import torch


def quaternion_apply(quaternion, point):
    """
    Apply the rotation given by a unit quaternion to a 3D point.

    Args:
        quaternion: Tensor of quaternions, real part first, of shape (..., 4).
        point: Tensor of 3D points of shape (..., 3).

    Returns:
        Tensor of rotated points of shape (..., 3).
    """
    w, u = quaternion[..., :1], quaternion[..., 1:]
    t = 2.0 * torch.cross(u, point, dim=-1)
    return point + w * t + torch.cross(u, t, dim=-1)
