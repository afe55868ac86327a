import torch.nn.functional as F


def deformable_sample(value, loc, attn):
    # value: (B, C, H, W)
    # loc:   (B, Q, P, 2) sampling points of each query, in [0, 1]
    # attn:  (B, Q, P)
    grid = 2 * loc - 1
    sampled = F.grid_sample(value, grid, align_corners=False)   # (B, C, Q, P)
    out = (sampled * attn.unsqueeze(1)).sum(-1)                 # (B, C, Q)
    return out.transpose(1, 2)
