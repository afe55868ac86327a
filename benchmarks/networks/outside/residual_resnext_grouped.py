import torch
import torch.nn as nn


class ResNeXtBlock(nn.Module):
    def __init__(self, channels, out_channels, cardinality=4, bottleneck_width=2, stride=1):
        super().__init__()
        group_width = cardinality * bottleneck_width
        self.body = nn.Sequential(
            nn.Conv2d(channels, group_width, 1, bias=False),
            nn.BatchNorm2d(group_width),
            nn.ReLU(inplace=True),
            nn.Conv2d(group_width, group_width, 3, stride=stride, padding=1, groups=cardinality, bias=False),
            nn.BatchNorm2d(group_width),
            nn.ReLU(inplace=True),
            nn.Conv2d(group_width, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
        )
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != out_channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out_channels, 1, stride=stride, bias=False),
                nn.BatchNorm2d(out_channels),
            )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


class Model(nn.Module):
    def __init__(self, cardinality, num_classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        cfg = [(16, 1, 2), (24, 2, 3), (32, 2, 3)]
        in_c, layers = 16, []
        for out_c, stride, n in cfg:
            for i in range(n):
                layers.append(ResNeXtBlock(in_c, out_c, cardinality, 2 + out_c // 16, stride if i == 0 else 1))
                in_c = out_c
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(in_c, num_classes)

    def forward(self, x):
        x = self.features(self.stem(x))
        x = self.pool(x).flatten(1)
        return self.classifier(x)


def get_inputs():
    return [torch.randn(2, 3, 16, 16)]


def get_init_inputs():
    return [4]
