import torch
import torch.nn.functional as F


def objective(x, w, labels):
    return F.cross_entropy(x @ w, labels)
