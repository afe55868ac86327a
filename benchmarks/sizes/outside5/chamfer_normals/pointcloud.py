import torch


# p1, n1: [B, N, 3] points and unit normals of the first clouds
# p2, n2: [B, M, 3] points and unit normals of the second clouds
def chamfer_with_normals(p1, p2, n1, n2, w_normal=0.1):
    d = torch.cdist(p1, p2) ** 2
    d12, i12 = d.min(dim=2)
    d21, i21 = d.min(dim=1)
    m2 = torch.gather(n2, 1, i12.unsqueeze(-1).expand(-1, -1, 3))
    m1 = torch.gather(n1, 1, i21.unsqueeze(-1).expand(-1, -1, 3))
    cos12 = 1 - (n1 * m2).sum(-1).abs()
    cos21 = 1 - (n2 * m1).sum(-1).abs()
    dist = d12.mean(1) + d21.mean(1)
    return dist + w_normal * (cos12.mean(1) + cos21.mean(1))
