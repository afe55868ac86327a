import torch


def squeeze_excite(x, w1, w2):
    s = x.mean(dim=(2, 3))
    s = torch.relu(s @ w1)
    s = torch.sigmoid(s @ w2)
    return x * s[:, :, None, None]
