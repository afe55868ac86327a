import torch


def quat_to_matrix(quat):
    w, x, y, z = quat.unbind(-1)
    two_s = 2.0 / (quat * quat).sum(-1).clamp(min=1e-8)
    m = torch.stack(
        [
            1 - two_s * (y * y + z * z), two_s * (x * y - z * w), two_s * (x * z + y * w),
            two_s * (x * y + z * w), 1 - two_s * (x * x + z * z), two_s * (y * z - x * w),
            two_s * (x * z - y * w), two_s * (y * z + x * w), 1 - two_s * (x * x + y * y),
        ],
        dim=-1,
    )
    return m.view(-1, 3, 3)


def rotate_points(quat, points):
    R = quat_to_matrix(quat)
    return torch.einsum("nij,npj->npi", R, points)
