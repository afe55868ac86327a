import torch
import torch.nn.functional as F


def flow_warp(img, flow, mode="bilinear"):
    """Backward-warp img [B,C,H,W] with optical flow [B,2,H,W] in pixels."""
    H, W = img.shape[-2:]
    gy, gx = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
    base = torch.stack([gx, gy]).to(flow)
    pos = (base + flow).movedim(1, -1)
    size = torch.tensor([max(W - 1, 1), max(H - 1, 1)]).to(flow)
    return F.grid_sample(img, 2 * pos / size - 1, mode=mode, align_corners=True)
