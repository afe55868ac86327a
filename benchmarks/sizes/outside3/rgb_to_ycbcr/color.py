import torch


def rgb_to_ycbcr(image):
    r, g, b = image.unbind(dim=-3)
    y = 0.299 * r + 0.587 * g + 0.114 * b
    cb = (b - y) * 0.564 + 0.5
    cr = (r - y) * 0.713 + 0.5
    return torch.stack([y, cb, cr], dim=-3)
