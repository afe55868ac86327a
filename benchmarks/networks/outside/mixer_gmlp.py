import torch
import torch.nn as nn
import torch.nn.functional as F


class SpatialGatingUnit(nn.Module):
    def __init__(self, d_ffn, seq_len):
        super().__init__()
        self.norm = nn.LayerNorm(d_ffn)
        self.spatial_proj = nn.Conv1d(seq_len, seq_len, kernel_size=1)
        nn.init.constant_(self.spatial_proj.bias, 1.0)

    def forward(self, x):
        u, v = x.chunk(2, dim=-1)
        v = self.norm(v)
        v = self.spatial_proj(v)
        return u * v


class gMLPBlock(nn.Module):
    def __init__(self, d_model, d_ffn, seq_len):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.channel_proj1 = nn.Linear(d_model, d_ffn * 2)
        self.channel_proj2 = nn.Linear(d_ffn, d_model)
        self.sgu = SpatialGatingUnit(d_ffn, seq_len)

    def forward(self, x):
        residual = x
        x = self.norm(x)
        x = F.gelu(self.channel_proj1(x))
        x = self.sgu(x)
        return self.channel_proj2(x) + residual


class Model(nn.Module):
    def __init__(self, num_tokens=40, d_model=24, d_ffn=32, seq_len=12, num_layers=8):
        super().__init__()
        self.embed = nn.Embedding(num_tokens, d_model)
        self.model = nn.Sequential(*[gMLPBlock(d_model, d_ffn, seq_len) for _ in range(num_layers)])
        self.ln = nn.LayerNorm(d_model)
        self.to_logits = nn.Linear(d_model, num_tokens)

    def forward(self, x):
        return self.to_logits(self.ln(self.model(self.embed(x))))


def get_inputs():
    x = torch.randint(0, 40, (2, 12))
    x[0, 0] = 39
    return [x]
