import torch


def gcn_conv(x, edge_index, weight, bias):
    src, dst = edge_index
    num_nodes = x.size(0)
    deg = torch.ones(num_nodes).index_add(0, dst, torch.ones(dst.size(0)))
    norm = deg.rsqrt()
    h = x @ weight
    msg = h[src] * (norm[src] * norm[dst])[:, None]
    out = h.new_zeros(num_nodes, weight.size(1))
    out.index_add_(0, dst, msg)
    return out + h / deg[:, None] + bias
