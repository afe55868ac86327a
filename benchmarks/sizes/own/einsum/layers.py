import torch


def bilinear_form(x, w, y):
    return torch.einsum("bi,oij,bj->bo", x, w, y)
