import torch


def quat_mul(p, q):
    n, four = p.shape
    assert four == 4 and q.shape == p.shape
    a1, b1, c1, d1 = p[:, 0], p[:, 1], p[:, 2], p[:, 3]
    a2, b2, c2, d2 = q[:, 0], q[:, 1], q[:, 2], q[:, 3]
    return torch.stack([
        a1 * a2 - b1 * b2 - c1 * c2 - d1 * d2,
        a1 * b2 + b1 * a2 + c1 * d2 - d1 * c2,
        a1 * c2 - b1 * d2 + c1 * a2 + d1 * b2,
        a1 * d2 + b1 * c2 - c1 * b2 + d1 * a2,
    ], dim=1)
