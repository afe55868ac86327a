import torch


def vector_attention(xyz, feats, knn_idx, pos_w):
    """Point Transformer layer without the learned projections.

    xyz is (N, 3), knn_idx is (N, K) and holds the neighbors of each point.
    """
    n, k = knn_idx.shape
    c = feats.shape[1]
    neighbors = feats[knn_idx]                          # (N, K, C)
    rel = xyz[knn_idx] - xyz.unsqueeze(1)               # (N, K, 3)
    pos = (rel.view(n * k, 3) @ pos_w).view(n, k, c)
    attn = torch.softmax(feats.unsqueeze(1) - neighbors + pos, dim=1)
    return (attn * (neighbors + pos)).sum(dim=1)
