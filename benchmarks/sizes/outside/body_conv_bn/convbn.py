import torch
import torch.nn.functional as F


def conv_bn(x, kernel, mean, var):
    b, c_in, h, w = x.shape
    c_out = kernel.shape[0]
    y = F.conv2d(x, kernel.view(c_out, c_in, 3, 3), padding=1)
    y = y - mean.view(1, c_out, 1, 1)
    return y / torch.sqrt(var.view(1, c_out, 1, 1) + 1e-5)
