import torch


def decode(
    pred,       # [bs, na, ny, nx, nc + 5], raw outputs of one detection layer
    anchors,    # [na, 2], in pixels
    stride=16,
):
    bs, na, ny, nx = pred.shape[:4]
    yv, xv = torch.meshgrid(torch.arange(ny), torch.arange(nx), indexing="ij")
    grid = torch.stack((xv, yv), 2).view(1, 1, ny, nx, 2).float()
    p = pred.sigmoid()
    xy = (p[..., 0:2] * 2 - 0.5 + grid) * stride
    wh = (p[..., 2:4] * 2) ** 2 * anchors.view(1, na, 1, 1, 2)
    return torch.cat((xy, wh, p[..., 4:]), -1).view(bs, na * ny * nx, -1)
