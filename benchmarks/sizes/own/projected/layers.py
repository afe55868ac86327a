import torch


def projected(x, w):
    return torch.relu(x @ w)
