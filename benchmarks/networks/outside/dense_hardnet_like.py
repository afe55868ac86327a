"""Harmonic dense blocks: each layer sees only the layers at distances of powers of two."""
import torch
from torch import nn


class ConvLayer(nn.Sequential):
    def __init__(self, cin, cout, kernel=3, stride=1):
        super().__init__()
        self.add_module('conv', nn.Conv2d(cin, cout, kernel_size=kernel, stride=stride, padding=kernel // 2, bias=False))
        self.add_module('norm', nn.BatchNorm2d(cout))
        self.add_module('relu', nn.ReLU6(inplace=True))


class HarDBlock(nn.Module):
    def get_link(self, layer, base_ch, growth_rate, grmul):
        if layer == 0:
            return base_ch, 0, []
        out_channels = growth_rate
        link = []
        for i in range(10):
            dv = 2 ** i
            if layer % dv == 0:
                k = layer - dv
                link.append(k)
                if i > 0:
                    out_channels *= grmul
        out_channels = int(int(out_channels + 1) / 2) * 2
        in_channels = 0
        for i in link:
            ch, _, _ = self.get_link(i, base_ch, growth_rate, grmul)
            in_channels += ch
        return out_channels, in_channels, link

    def __init__(self, in_channels, growth_rate, grmul, n_layers):
        super().__init__()
        self.links = []
        layers_ = []
        self.out_channels = 0
        for i in range(n_layers):
            outch, inch, link = self.get_link(i + 1, in_channels, growth_rate, grmul)
            self.links.append(link)
            layers_.append(ConvLayer(inch, outch))
            if i % 2 == 0 or i == n_layers - 1:
                self.out_channels += outch
        self.layers = nn.ModuleList(layers_)

    def forward(self, x):
        layers_ = [x]
        for layer in range(len(self.layers)):
            tin = [layers_[i] for i in self.links[layer]]
            x = torch.cat(tin, 1) if len(tin) > 1 else tin[0]
            layers_.append(self.layers[layer](x))
        t = len(layers_)
        return torch.cat([layers_[i] for i in range(t) if i == t - 1 or i % 2 == 1], 1)


class Model(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        first = [8, 12]
        layers = [ConvLayer(3, first[0], stride=2), ConvLayer(first[0], first[1])]
        ch = first[1]
        for n, gr, out in [(4, 6, 16), (8, 6, 24), (4, 8, 32)]:
            blk = HarDBlock(ch, gr, 1.6, n)
            layers += [blk, ConvLayer(blk.out_channels, out, kernel=1), nn.MaxPool2d(2)]
            ch = out
        self.base = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Dropout(0.1), nn.Linear(ch, classes))

    def forward(self, x):
        return self.head(self.base(x))


def get_inputs():
    return [torch.randn(2, 3, 32, 32)]
