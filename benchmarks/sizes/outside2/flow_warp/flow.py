import torch
import torch.nn.functional as F


def warp(feat, flow):
    # feat: B x C x H x W, second frame
    # flow: B x 2 x H x W, in pixels
    B, C, H, W = feat.size()
    ys, xs = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
    grid = torch.stack((xs, ys), 0).to(feat)
    pos = grid + flow
    gx = 2.0 * pos[:, 0] / max(W - 1, 1) - 1.0
    gy = 2.0 * pos[:, 1] / max(H - 1, 1) - 1.0
    return F.grid_sample(feat, torch.stack((gx, gy), dim=-1), align_corners=True)
