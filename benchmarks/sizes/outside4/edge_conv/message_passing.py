import torch


def edge_messages(x, edge_index, edge_attr, weight):
    r"""Sums messages over the incoming edges.

    Args:
        x (torch.Tensor): Node features with shape :obj:`[num_nodes, in_channels]`.
        edge_index (torch.LongTensor): Graph connectivity with shape :obj:`[2, num_edges]`.
        edge_attr (torch.Tensor): Edge features with shape :obj:`[num_edges, edge_dim]`.
        weight (torch.Tensor): Shape :obj:`[2 * in_channels + edge_dim, out_channels]`.
    """
    src, dst = edge_index
    msg = torch.cat([x[dst], x[src], edge_attr], dim=-1) @ weight
    out = torch.zeros(x.size(0), msg.size(1))
    return out.index_add(0, dst, torch.relu(msg))
