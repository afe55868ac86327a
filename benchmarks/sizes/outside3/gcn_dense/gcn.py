import torch


def gcn_layer(adj, feats, weight, bias):
    # Kipf & Welling: D^-1/2 (A + I) D^-1/2 X W
    a_hat = adj.abs() + torch.eye(adj.size(0))
    d_inv_sqrt = a_hat.sum(dim=1).pow(-0.5)
    a_norm = d_inv_sqrt[:, None] * a_hat * d_inv_sqrt[None, :]
    return torch.relu(a_norm @ feats @ weight + bias)
