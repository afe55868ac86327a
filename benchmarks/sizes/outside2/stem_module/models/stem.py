import torch.nn as nn


class ConvStem(nn.Module):
    def __init__(self, in_chans=3, width=16):
        super().__init__()
        self.proj = nn.Sequential(
            nn.Conv2d(in_chans, width, 3, stride=2, padding=1),
            nn.BatchNorm2d(width),
            nn.GELU(),
            nn.Conv2d(width, width, 3, padding=1),
        )

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)
