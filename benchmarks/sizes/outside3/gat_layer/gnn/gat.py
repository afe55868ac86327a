import torch
import torch.nn.functional as F


def gat_layer(x, edge_index, W, a, slope=0.2):
    """Single head graph attention.

    x: node features [num_nodes, in_dim]
    edge_index: COO edge list, sources then targets
    """
    src, dst = edge_index[0], edge_index[1]
    h = x @ W
    # a: attention vector, for source and target stacked
    e = F.leaky_relu(torch.cat([h[src], h[dst]], dim=-1) @ a, slope)
    e = torch.exp(e - e.max())
    norm = torch.zeros(x.size(0)).index_add(0, dst, e)
    alpha = e / (norm[dst] + 1e-16)
    return torch.zeros_like(h).index_add(0, dst, alpha[:, None] * h[src])


if __name__ == "__main__":
    x = torch.randn(6, 16)
    edges = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    print(gat_layer(x, edges, torch.randn(16, 8), torch.randn(16)))
