import torch
import torch.nn as nn


class DiceLoss(nn.Module):
    r"""Soft multi-class Dice loss.

    Shape:
        - input: :math:`(N, C, H, W)`, raw logits
        - target: :math:`(N, C, H, W)`, one-hot labels as floats
        - output: scalar
    """

    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, input, target):
        p = torch.softmax(input, dim=1)
        inter = (p * target).sum(dim=(2, 3))
        total = p.sum(dim=(2, 3)) + target.sum(dim=(2, 3))
        return 1 - ((2 * inter + self.smooth) / (total + self.smooth)).mean()
