"""Denoising U-Net with sinusoidal time embedding, group norm and attention in the middle."""
import math
import torch
from torch import nn
import torch.nn.functional as F


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
    args = t[:, None] * freqs[None]
    return torch.cat([torch.sin(args), torch.cos(args)], dim=1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, tdim, groups=4):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(groups, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.time = nn.Linear(tdim, cout)
        self.norm2, self.conv2 = nn.GroupNorm(groups, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, temb):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(F.silu(temb))[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + self.skip(x)


class AttnBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = nn.GroupNorm(4, c)
        self.qkv = nn.Conv2d(c, 3 * c, 1)
        self.proj = nn.Conv2d(c, c, 1)

    def forward(self, x):
        B, C, H, W = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(B, 3, C, H * W).unbind(1)
        w = torch.einsum("bci,bcj->bij", q, k) * C ** -0.5
        out = torch.einsum("bij,bcj->bci", w.softmax(-1), v).reshape(B, C, H, W)
        return x + self.proj(out)


class Model(nn.Module):
    def __init__(self, ch=8, mults=(1, 2, 3), tdim=32):
        super().__init__()
        self.ch = ch
        self.time_mlp = nn.Sequential(nn.Linear(ch, tdim), nn.SiLU(), nn.Linear(tdim, tdim))
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        self.downs, self.ups = nn.ModuleList(), nn.ModuleList()
        c, skips = ch, []
        for i, m in enumerate(mults):
            pool = nn.Conv2d(ch * m, ch * m, 3, stride=2, padding=1) if i < len(mults) - 1 else nn.Identity()
            self.downs.append(nn.ModuleList([ResBlock(c, ch * m, tdim), pool]))
            c = ch * m
            skips.append(c)
        self.mid1, self.attn, self.mid2 = ResBlock(c, c, tdim), AttnBlock(c), ResBlock(c, c, tdim)
        for i, m in reversed(list(enumerate(mults))):
            up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(c, c, 3, padding=1)) if i < len(mults) - 1 else nn.Identity()
            self.ups.append(nn.ModuleList([up, ResBlock(c + skips[i], ch * m, tdim)]))
            c = ch * m
        self.out = nn.Sequential(nn.GroupNorm(4, c), nn.SiLU(), nn.Conv2d(c, 3, 3, padding=1))

    def forward(self, x, t):
        temb = self.time_mlp(timestep_embedding(t, self.ch))
        h, hs = self.stem(x), []
        for res, down in self.downs:
            h = res(h, temb)
            hs.append(h)
            h = down(h)
        h = self.mid2(self.attn(self.mid1(h, temb)), temb)
        for up, res in self.ups:
            h = res(torch.cat([up(h), hs.pop()], dim=1), temb)
        return self.out(h)


def get_inputs():
    return [torch.randn(2, 3, 16, 16), torch.rand(2) * 100]
