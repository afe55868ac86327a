import torch


def selective_scan(u, delta, A, B, C, D):
    """Sequential reference of the selective state space model.

    u: (batch, length, d_inner)
    delta: same shape as u
    """
    b, l, d_in = u.shape
    n = A.shape[1]
    # discretise, A is (d_inner, n)
    deltaA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
    deltaB_u = torch.einsum("bld,bln,bld->bldn", delta, B, u)
    x = torch.zeros(b, d_in, n)
    ys = []
    for i in range(l):
        x = deltaA[:, i] * x + deltaB_u[:, i]
        ys.append(torch.einsum("bdn,bn->bd", x, C[:, i, :]))
    y = torch.stack(ys, dim=1)
    return y + u * D
