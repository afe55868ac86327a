import torch


def mean_aggregate(x, edge_index):
    """Mean of the neighbours' features.

    Args:
        x (torch.Tensor): Node features of shape ``[num_nodes, num_features]``.
        edge_index (torch.LongTensor): Edges from source to target, of shape
            ``[2, num_edges]``.

    Returns:
        torch.Tensor: shape ``[num_nodes, num_features]``
    """
    src, dst = edge_index
    out = torch.zeros_like(x).index_add_(0, dst, x[src])
    deg = torch.zeros(x.size(0)).index_add_(0, dst, torch.ones(dst.size(0)))
    return out / deg.clamp(min=1).unsqueeze(-1)
