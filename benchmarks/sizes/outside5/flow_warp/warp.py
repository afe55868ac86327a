import torch
import torch.nn.functional as F


def warp(x, flo):
    # warp an image/tensor (im2) back to im1, according to the optical flow
    # x: [B, C, H, W] (im2)
    # flo: [B, 2, H, W] flow
    B, C, H, W = x.size()
    xx = torch.arange(0, W).view(1, -1).repeat(H, 1)
    yy = torch.arange(0, H).view(-1, 1).repeat(1, W)
    xx = xx.view(1, 1, H, W).repeat(B, 1, 1, 1)
    yy = yy.view(1, 1, H, W).repeat(B, 1, 1, 1)
    grid = torch.cat((xx, yy), 1).float()
    vgrid = grid + flo
    gx = 2.0 * vgrid[:, 0] / max(W - 1, 1) - 1.0
    gy = 2.0 * vgrid[:, 1] / max(H - 1, 1) - 1.0
    vgrid = torch.stack((gx, gy), dim=-1)
    return F.grid_sample(x, vgrid, align_corners=True)
