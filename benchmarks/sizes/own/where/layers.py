import torch


def huber(pred, target, delta=1.0):
    err = pred - target
    small = err.abs() <= delta
    return torch.where(small, 0.5 * err ** 2, delta * (err.abs() - 0.5 * delta)).mean()
