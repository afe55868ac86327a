import torch
from torch import Tensor


def edge_attention(x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
    r"""Aggregates the features of the neighbours of every node, weighted with a softmax over the
    incoming edges.

    Args:
        x (torch.Tensor): The node feature matrix of shape
            :obj:`[num_nodes, num_features]`.
        edge_index (torch.LongTensor): The edge indices of shape
            :obj:`[2, num_edges]`.
        edge_weight (torch.Tensor): The unnormalized edge scores of shape
            :obj:`[num_edges]`.

    :rtype: :class:`torch.Tensor`
    """
    row, col = edge_index[0], edge_index[1]
    score = (edge_weight - edge_weight.max()).exp()
    norm = torch.zeros(x.size(0), dtype=x.dtype, device=x.device)
    norm = norm.scatter_add(0, col, score)
    alpha = score / norm[col].clamp(min=1e-16)
    out = torch.zeros_like(x)
    return out.index_add(0, col, alpha.view(-1, 1) * x[row])
