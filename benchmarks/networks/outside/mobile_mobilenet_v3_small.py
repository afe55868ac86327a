import torch
import torch.nn as nn
import torch.nn.functional as F


class hswish(nn.Module):
    def forward(self, x):
        return x * F.relu6(x + 3, inplace=False) / 6


class hsigmoid(nn.Module):
    def forward(self, x):
        return F.relu6(x + 3, inplace=False) / 6


class SeModule(nn.Module):
    def __init__(self, in_size, reduction=4):
        super(SeModule, self).__init__()
        self.se = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_size, in_size // reduction, kernel_size=1, stride=1, padding=0, bias=False),
            nn.BatchNorm2d(in_size // reduction),
            nn.ReLU(inplace=True),
            nn.Conv2d(in_size // reduction, in_size, kernel_size=1, stride=1, padding=0, bias=False),
            nn.BatchNorm2d(in_size),
            hsigmoid()
        )

    def forward(self, x):
        return x * self.se(x)


class Block(nn.Module):
    '''expand + depthwise + pointwise'''

    def __init__(self, kernel_size, in_size, expand_size, out_size, nolinear, semodule, stride):
        super(Block, self).__init__()
        self.stride = stride
        self.se = semodule
        self.conv1 = nn.Conv2d(in_size, expand_size, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(expand_size)
        self.nolinear1 = nolinear
        self.conv2 = nn.Conv2d(expand_size, expand_size, kernel_size=kernel_size, stride=stride,
                               padding=kernel_size // 2, groups=expand_size, bias=False)
        self.bn2 = nn.BatchNorm2d(expand_size)
        self.nolinear2 = nolinear
        self.conv3 = nn.Conv2d(expand_size, out_size, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_size)
        self.shortcut = nn.Sequential()
        if stride == 1 and in_size != out_size:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_size, out_size, kernel_size=1, bias=False),
                nn.BatchNorm2d(out_size),
            )

    def forward(self, x):
        out = self.nolinear1(self.bn1(self.conv1(x)))
        out = self.nolinear2(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.se is not None:
            out = self.se(out)
        out = out + self.shortcut(x) if self.stride == 1 else out
        return out


class Model(nn.Module):
    def __init__(self, num_classes=10):
        super(Model, self).__init__()
        self.conv1 = nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.hs1 = hswish()
        self.bneck = nn.Sequential(
            Block(3, 8, 8, 8, nn.ReLU(inplace=True), SeModule(8), 2),
            Block(3, 8, 24, 12, nn.ReLU(inplace=True), None, 2),
            Block(3, 12, 32, 12, nn.ReLU(inplace=True), None, 1),
            Block(5, 12, 32, 16, hswish(), SeModule(16), 1),
            Block(5, 16, 48, 16, hswish(), SeModule(16), 1),
            Block(5, 16, 48, 16, hswish(), SeModule(16), 1),
            Block(5, 16, 40, 24, hswish(), SeModule(24), 1),
            Block(5, 24, 48, 24, hswish(), SeModule(24), 1),
        )
        self.conv2 = nn.Conv2d(24, 48, kernel_size=1, bias=False)
        self.bn2 = nn.BatchNorm2d(48)
        self.hs2 = hswish()
        self.linear3 = nn.Linear(48, 64)
        self.bn3 = nn.BatchNorm1d(64)
        self.hs3 = hswish()
        self.linear4 = nn.Linear(64, num_classes)

    def forward(self, x):
        out = self.hs1(self.bn1(self.conv1(x)))
        out = self.bneck(out)
        out = self.hs2(self.bn2(self.conv2(out)))
        out = F.avg_pool2d(out, out.shape[-1])
        out = out.view(out.size(0), -1)
        out = self.hs3(self.bn3(self.linear3(out)))
        return self.linear4(out)


def get_inputs():
    return [torch.randn(2, 3, 32, 32)]
