import torch.nn.functional as F


def conv_relu(x, w, b):
    # x:  N, C, L      signal
    # w:  O, C, 3      kernels
    # b:  O
    y = F.conv1d(x, w, b, padding=1)
    return F.relu(y)  # N, O, L
