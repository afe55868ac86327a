import torch


def pairs(x, y):
    return torch.bmm(x, y).softmax(-1)
