import torch


def project(points, extrinsic, K):
    R, t = extrinsic[:3, :3], extrinsic[:3, 3]
    cam = points @ R.T + t
    x, y, z = cam.unbind(dim=1)
    uvw = torch.stack([x / z, y / z, torch.ones_like(z)], dim=1)
    return torch.mm(uvw, K.T)[:, :2], z
