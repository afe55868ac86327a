import torch
import torch.nn.functional as F


def normalize_adj(adj):
    a = adj + torch.eye(adj.size(0))
    d = a.sum(1).clamp(min=1e-6).rsqrt()
    return d[:, None] * a * d[None, :]


def gcn_layer(x, adj, weight, bias):
    """One graph convolution (Kipf & Welling) with the renormalization trick."""
    num_nodes, in_feats = x.shape
    assert weight.shape[0] == in_feats
    support = x @ weight
    out = normalize_adj(adj) @ support + bias
    return F.relu(out)
