import torch


def dihedral(a, b, c, d):
    b0 = a - b
    b1 = torch.nn.functional.normalize(c - b, dim=-1)
    b2 = d - c
    v = b0 - (b0 * b1).sum(-1, keepdim=True) * b1
    w = b2 - (b2 * b1).sum(-1, keepdim=True) * b1
    x = (v * w).sum(-1)
    y = (torch.cross(b1, v, dim=-1) * w).sum(-1)
    return torch.atan2(y, x)


def phi_psi(xyz):
    """
    Backbone torsion angles.

    Inputs:
        xyz: backbone coordinates (B, L, 3, 3), atoms in the order N, CA, C
    Outputs:
        phi, psi: (B, L-1) in radians
    """
    N, CA, C = xyz[..., 0, :], xyz[..., 1, :], xyz[..., 2, :]
    phi = dihedral(C[:, :-1], N[:, 1:], CA[:, 1:], C[:, 1:])
    psi = dihedral(N[:, :-1], CA[:, :-1], C[:, :-1], N[:, 1:])
    return phi, psi
