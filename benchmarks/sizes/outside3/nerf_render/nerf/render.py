import torch


def raw2outputs(rgb, sigma, z_vals, white_bkgd=False):
    # rgb     [n_rays, n_samples, 3]
    # sigma   [n_rays, n_samples]
    # z_vals  [n_rays, n_samples]
    dists = z_vals[:, 1:] - z_vals[:, :-1]
    dists = torch.cat([dists, torch.full_like(z_vals[:, :1], 1e10)], -1)

    alpha = 1.0 - torch.exp(-torch.relu(sigma) * dists.abs())
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * trans

    rgb_map = torch.sum(weights[..., None] * torch.sigmoid(rgb), -2)
    depth_map = torch.sum(weights * z_vals, -1)
    acc_map = weights.sum(-1)
    if white_bkgd:
        rgb_map = rgb_map + (1.0 - acc_map[..., None])
    return rgb_map, depth_map, acc_map
