import torch


def gcn_layer(x, adj, weight):
    deg = adj.sum(-1, keepdim=True).clamp(min=1)
    return torch.relu((adj / deg) @ x @ weight)
