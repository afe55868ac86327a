import torch
import torch.nn.functional as F


def dihedral(a, b, c, d):
    b0, b1, b2 = a - b, F.normalize(c - b, dim=-1), d - c
    v = b0 - (b0 * b1).sum(-1, keepdim=True) * b1
    w = b2 - (b2 * b1).sum(-1, keepdim=True) * b1
    x = (v * w).sum(-1)
    y = (torch.cross(b1, v, dim=-1) * w).sum(-1)
    return torch.atan2(y, x)


def phi_psi(coords):
    # coords: L x 4 x 3, the backbone atoms N, CA, C, O of each residue
    n, ca, c = coords[:, 0], coords[:, 1], coords[:, 2]
    phi = dihedral(c[:-1], n[1:], ca[1:], c[1:])
    psi = dihedral(n[:-1], ca[:-1], c[:-1], n[1:])
    return phi, psi
