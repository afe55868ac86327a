import torch
import torch.nn.functional as F


def encode(x, w1, w2):
    h = F.relu(F.conv1d(x, w1, padding=2))   # kernel 5
    h = F.relu(F.conv1d(h, w2, padding=1))   # kernel 3
    return h.mean(-1)


if __name__ == "__main__":
    feats = encode(torch.randn(2, 4, 20), torch.randn(8, 4, 5), torch.randn(12, 8, 3))
    print(feats.shape)
