import torch


def qmul(q, r):
    """Hamilton product, real part first."""
    w1, x1, y1, z1 = torch.unbind(q, -1)
    w2, x2, y2, z2 = torch.unbind(r, -1)
    return torch.stack(
        (
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ),
        dim=-1,
    )
