import torch
import torch.nn.functional as F


def depthwise(x, w):
    return F.conv1d(x, w, groups=x.shape[1])
