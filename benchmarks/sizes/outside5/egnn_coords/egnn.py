import torch


def egnn_coord_update(pos, feat, senders, receivers, w):
    """Equivariant update of the 3D coordinates of n atoms.

    senders and receivers are the end points of the edges, one index per edge.
    """
    n, f = feat.shape
    rel = pos[receivers] - pos[senders]
    dist2 = rel.pow(2).sum(dim=1, keepdim=True)
    edge = torch.cat([feat[receivers], feat[senders], dist2], dim=1)
    phi = torch.tanh(torch.mv(edge, w)).unsqueeze(1)  # w weighs both features and the distance
    update = torch.zeros(n, 3).index_add_(0, receivers, phi * rel)
    return pos + update / max(n - 1, 1)
