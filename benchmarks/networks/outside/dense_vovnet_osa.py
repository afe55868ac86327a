import torch
import torch.nn as nn


class ConvBNAct(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding=(kernel_size - 1) // 2, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class eSE(nn.Module):
    """effective squeeze-excitation: one fc, hard sigmoid"""

    def __init__(self, channel):
        super().__init__()
        self.fc = nn.Conv2d(channel, channel, kernel_size=1)
        self.gate = nn.Hardsigmoid()

    def forward(self, x):
        w = x.mean((2, 3), keepdim=True)
        return x * self.gate(self.fc(w))


class OSAModule(nn.Module):
    def __init__(self, in_ch, stage_ch, concat_ch, layer_per_block, identity=False):
        super().__init__()
        self.identity = identity
        self.layers = nn.ModuleList()
        c = in_ch
        for _ in range(layer_per_block):
            self.layers.append(ConvBNAct(c, stage_ch))
            c = stage_ch
        self.concat = ConvBNAct(in_ch + layer_per_block * stage_ch, concat_ch, 1)
        self.attn = eSE(concat_ch)

    def forward(self, x):
        identity_feat = x
        output = [x]
        for layer in self.layers:
            x = layer(x)
            output.append(x)
        x = torch.cat(output, dim=1)
        xt = self.attn(self.concat(x))
        if self.identity:
            xt = xt + identity_feat
        return xt


class Model(nn.Module):
    def __init__(self, num_classes: int = 10):
        super().__init__()
        self.stem = nn.Sequential(ConvBNAct(3, 8, stride=2), ConvBNAct(8, 8), ConvBNAct(8, 16))
        stages = []
        in_ch = 16
        for stage_ch, concat_ch, n_block in [(8, 16, 1), (10, 24, 2), (12, 32, 2)]:
            mods = [nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)] if stages else []
            for b in range(n_block):
                mods.append(OSAModule(in_ch, stage_ch, concat_ch, 3, identity=b > 0))
                in_ch = concat_ch
            stages.append(nn.Sequential(*mods))
        self.stages = nn.Sequential(*stages)
        self.fc = nn.Linear(in_ch, num_classes)

    def forward(self, x):
        x = self.stem(x)
        x = self.stages(x)
        return self.fc(x.mean(dim=(-2, -1)))


def get_inputs():
    return [torch.randn(2, 3, 32, 32)]
