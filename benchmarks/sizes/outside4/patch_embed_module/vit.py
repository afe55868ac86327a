import torch
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, patch=4, in_chans=3, dim=48):
        super().__init__()
        self.proj = nn.Conv2d(in_chans, dim, patch, patch)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        tokens = self.proj(x).flatten(-2).transpose(-2, -1)
        return self.norm(tokens)


if __name__ == "__main__":
    model = PatchEmbed()
    out = model(torch.randn(2, 3, 32, 32))
    assert out.shape == (2, 64, 48), out.shape
