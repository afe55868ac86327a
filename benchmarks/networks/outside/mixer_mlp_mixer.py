from functools import partial

import torch
from torch import nn


class PreNormResidual(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.fn(self.norm(x)) + x


def FeedForward(dim, expansion_factor=4, dropout=0., dense=nn.Linear):
    inner_dim = int(dim * expansion_factor)
    return nn.Sequential(
        dense(dim, inner_dim),
        nn.GELU(),
        nn.Dropout(dropout),
        dense(inner_dim, dim),
        nn.Dropout(dropout)
    )


class Model(nn.Module):
    def __init__(self, image_size, channels, patch_size, dim, depth, num_classes):
        super().__init__()
        num_patches = (image_size // patch_size) ** 2
        chan_first, chan_last = partial(nn.Conv1d, kernel_size=1), nn.Linear
        self.embed = nn.Conv2d(channels, dim, patch_size, stride=patch_size)
        self.layers = nn.Sequential(*[nn.Sequential(
            PreNormResidual(dim, FeedForward(num_patches, 2, dense=chan_first)),
            PreNormResidual(dim, FeedForward(dim, 2, dense=chan_last))
        ) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, img):
        x = self.embed(img).flatten(2).transpose(1, 2)
        x = self.norm(self.layers(x))
        return self.head(x.mean(dim=1))


def get_inputs():
    return [torch.randn(2, 3, 16, 16)]


def get_init_inputs():
    return [16, 3, 4, 24, 6, 10]
