import torch


def predict(x, landmarks, alpha, lengthscale=1.0):
    sq = (x[:, None, :] - landmarks[None, :, :]).pow(2).sum(dim=2)
    gram = torch.exp(-0.5 * sq / lengthscale ** 2)
    return gram @ alpha
