import torch
import torch.nn.functional as F


def selective_scan(u, delta, A, B, C, D):
    # u, delta: (b, l, d)   A: (d, n)   B, C: (b, l, n)   D: (d,)
    delta = F.softplus(delta)
    dA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
    dBu = torch.einsum("bld,bln,bld->bldn", delta, B, u)

    state = torch.zeros(u.shape[0], *A.shape)
    ys = []
    for i in range(u.shape[1]):
        state = dA[:, i] * state + dBu[:, i]
        ys.append(torch.einsum("bdn,bn->bd", state, C[:, i]))
    return torch.stack(ys, dim=1) + u * D
