import torch


def weighted_cov(x, w):
    w = w / w.sum()
    mu = w @ x
    xc = x - mu
    return (xc * w.unsqueeze(-1)).mT @ xc
