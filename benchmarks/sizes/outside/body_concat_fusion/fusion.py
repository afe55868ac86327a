import torch


def fuse(text, image, w):
    batch, d_text = text.shape
    _, d_image = image.shape
    joint = torch.cat((text, image), dim=1)
    return joint.mm(w.view(d_text + d_image, -1)).relu()
