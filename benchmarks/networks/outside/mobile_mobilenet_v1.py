import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, ch_in, n_classes):
        super(Model, self).__init__()

        def conv_bn(inp, oup, stride):
            return nn.Sequential(
                nn.Conv2d(inp, oup, 3, stride, 1, bias=False),
                nn.BatchNorm2d(oup),
                nn.ReLU(inplace=True)
            )

        def conv_dw(inp, oup, stride):
            return nn.Sequential(
                # dw
                nn.Conv2d(inp, inp, 3, stride, 1, groups=inp, bias=False),
                nn.BatchNorm2d(inp),
                nn.ReLU(inplace=True),

                # pw
                nn.Conv2d(inp, oup, 1, 1, 0, bias=False),
                nn.BatchNorm2d(oup),
                nn.ReLU(inplace=True),
            )

        self.model = nn.Sequential(
            conv_bn(ch_in, 8, 2),
            conv_dw(8, 12, 1),
            conv_dw(12, 16, 2),
            conv_dw(16, 16, 1),
            conv_dw(16, 24, 2),
            conv_dw(24, 24, 1),
            conv_dw(24, 32, 2),
            conv_dw(32, 32, 1),
            conv_dw(32, 32, 1),
            conv_dw(32, 32, 1),
            conv_dw(32, 32, 1),
            conv_dw(32, 32, 1),
            conv_dw(32, 48, 1),
            conv_dw(48, 48, 1),
            nn.AdaptiveAvgPool2d(1)
        )
        self.fc = nn.Linear(48, n_classes)

    def forward(self, x):
        x = self.model(x)
        x = x.view(-1, 48)
        x = self.fc(x)
        return x


def get_inputs():
    return [torch.randn(2, 3, 32, 32)]


def get_init_inputs():
    return [3, 10]
