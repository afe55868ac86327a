import torch


def squeeze_excite(x, w1, w2):
    b, c, _, _ = x.shape
    s = x.mean(dim=(2, 3))
    s = torch.mm(s, w1.t()).relu()
    s = torch.mm(s, w2.t()).sigmoid()
    return x * s.view(b, c, 1, 1)
