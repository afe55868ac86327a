import torch


def exp_map(omega, eps=1e-6):
    n = omega.size(0)
    theta = omega.norm(dim=1).clamp(min=eps)
    wx, wy, wz = omega.unbind(dim=1)
    zero = torch.zeros_like(wx)
    K = torch.stack([zero, -wz, wy, wz, zero, -wx, -wy, wx, zero], dim=1).view(n, 3, 3)
    s = (torch.sin(theta) / theta).view(n, 1, 1)
    c = ((1 - torch.cos(theta)) / theta.square()).view(n, 1, 1)
    return torch.eye(3).expand(n, 3, 3) + s * K + c * torch.bmm(K, K)
