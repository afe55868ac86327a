import torch


def haar_dwt(x):
    n, c, h, w = x.shape
    blocks = x.view(n, c, h // 2, 2, w // 2, 2)
    a = blocks[:, :, :, 0, :, 0]
    b = blocks[:, :, :, 0, :, 1]
    d = blocks[:, :, :, 1, :, 0]
    e = blocks[:, :, :, 1, :, 1]
    ll = (a + b + d + e) / 2
    lh = (a - b + d - e) / 2
    hl = (a + b - d - e) / 2
    hh = (a - b - d + e) / 2
    return torch.cat([ll, lh, hl, hh], dim=1)
