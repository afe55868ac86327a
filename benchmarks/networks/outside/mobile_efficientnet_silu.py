import math

import torch
from torch import nn
from torch.nn import functional as F


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int, squeeze: int):
        super().__init__()
        self.reduce = nn.Conv2d(channels, squeeze, 1)
        self.expand = nn.Conv2d(squeeze, channels, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        s = F.silu(self.reduce(s))
        return torch.sigmoid(self.expand(s)) * x


class MBConvBlock(nn.Module):
    def __init__(self, cin, cout, expand, kernel, stride, se_ratio=0.25):
        super().__init__()
        mid = cin * expand
        self.has_skip = cin == cout and stride == 1
        self.expand = expand != 1
        if self.expand:
            self._expand_conv = nn.Conv2d(cin, mid, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(mid, momentum=0.01, eps=1e-3)
        self._depthwise_conv = nn.Conv2d(mid, mid, kernel, stride, kernel // 2, groups=mid, bias=False)
        self._bn1 = nn.BatchNorm2d(mid, momentum=0.01, eps=1e-3)
        self._se = SqueezeExcite(mid, max(1, int(cin * se_ratio)))
        self._project_conv = nn.Conv2d(mid, cout, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(cout, momentum=0.01, eps=1e-3)
        self._swish = Swish()

    def forward(self, inputs):
        x = inputs
        if self.expand:
            x = self._swish(self._bn0(self._expand_conv(inputs)))
        x = self._swish(self._bn1(self._depthwise_conv(x)))
        x = self._se(x)
        x = self._bn2(self._project_conv(x))
        if self.has_skip:
            x = x + inputs
        return x


class Model(nn.Module):
    def __init__(self, width_coefficient=1.0, depth_coefficient=1.0, num_classes=10):
        super().__init__()
        # repeats, kernel, stride, expand, in, out
        blocks = [(1, 3, 1, 1, 8, 8), (2, 3, 2, 3, 8, 12), (2, 5, 2, 3, 12, 16), (2, 3, 1, 3, 16, 24), (1, 5, 1, 3, 24, 32)]
        self._conv_stem = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self._bn0 = nn.BatchNorm2d(8, momentum=0.01, eps=1e-3)
        self._blocks = nn.ModuleList([])
        for r, k, s, e, i, o in blocks:
            i, o = int(i * width_coefficient), int(o * width_coefficient)
            for n in range(int(math.ceil(depth_coefficient * r))):
                self._blocks.append(MBConvBlock(i if n == 0 else o, o, e, k, s if n == 0 else 1))
        self._conv_head = nn.Conv2d(int(32 * width_coefficient), 48, 1, bias=False)
        self._bn1 = nn.BatchNorm2d(48, momentum=0.01, eps=1e-3)
        self._dropout = nn.Dropout(0.2)
        self._fc = nn.Linear(48, num_classes)
        self._swish = Swish()

    def extract_features(self, x):
        x = self._swish(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return self._swish(self._bn1(self._conv_head(x)))

    def forward(self, x):
        x = self.extract_features(x)
        x = F.adaptive_avg_pool2d(x, 1).squeeze(-1).squeeze(-1)
        x = self._dropout(x)
        return self._fc(x)


def get_inputs():
    return [torch.randn(2, 3, 24, 24)]
