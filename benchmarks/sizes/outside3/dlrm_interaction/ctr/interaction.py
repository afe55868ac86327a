import torch


def dot_interaction(dense, sparse):
    # dense: output of the bottom MLP, B x D
    # sparse: looked up embeddings, B x F x D
    feats = torch.cat([dense.unsqueeze(1), sparse], dim=1)  # B x (F+1) x D
    gram = torch.bmm(feats, feats.transpose(1, 2))
    n = feats.shape[1]
    i, j = torch.tril_indices(n, n, offset=-1)
    return torch.cat([dense, gram[:, i, j]], dim=1)
