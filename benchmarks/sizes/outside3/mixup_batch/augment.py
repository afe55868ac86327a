import torch


def mixup(x, y, lam=0.7):
    x_mix = lam * x + (1 - lam) * x.flip(0)
    y_mix = lam * y + (1 - lam) * y.flip(0)
    return x_mix, y_mix
