import torch
import torch.nn.functional as F


def cosine_matrix(a, b, eps=1e-8):
    a = F.normalize(a, dim=1, eps=eps)
    b = F.normalize(b, dim=1, eps=eps)
    return a @ b.t()


def top_matches(a, b, k=5):
    return cosine_matrix(a, b).topk(k, dim=1).indices
