import torch
import torch.nn.functional as F


def dense_gat(h, adj, W, a, alpha=0.2):
    # h.shape: (N, in_features), adj.shape: (N, N)
    # W.shape: (in_features, out_features), a.shape: (2 * out_features, 1)
    Wh = torch.mm(h, W)  # Wh.shape: (N, out_features)
    out_features = Wh.shape[1]
    Wh1 = torch.matmul(Wh, a[:out_features, :])
    Wh2 = torch.matmul(Wh, a[out_features:, :])
    e = F.leaky_relu(Wh1 + Wh2.T, alpha)
    zero_vec = -9e15 * torch.ones_like(e)
    attention = torch.where(adj > 0, e, zero_vec)
    attention = F.softmax(attention, dim=1)
    return F.elu(torch.matmul(attention, Wh))
