import torch


def gram_loss(feat, target):
    b, c, h, w = feat.size()
    f = feat.view(b, c, h * w)
    gram = torch.bmm(f, f.transpose(1, 2)) / (c * h * w)
    return (gram - target.view(b, c, c)).pow(2).mean(dim=(1, 2))
