import torch


def propagate(x, edge_index, weight):
    r"""One mean-aggregation message-passing step.

    Args:
        x (Tensor): Node features of shape :obj:`[num_nodes, in_channels]`.
        edge_index (LongTensor): Graph connectivity in COO format with shape
            :obj:`[2, num_edges]`.
        weight (Tensor): Projection of shape :obj:`[in_channels, out_channels]`.
    """
    src, dst = edge_index
    h = x @ weight
    out = torch.zeros_like(h).index_add_(0, dst, h[src])
    deg = h.new_zeros(h.size(0)).index_add_(0, dst, h.new_ones(dst.size(0)))
    return out / deg.clamp(min=1).unsqueeze(-1)
