"""Decoder with parallel attention and feed-forward, multi-query heads and ALiBi biases."""
import torch
from torch import nn, einsum
import torch.nn.functional as F


class ParallelBlock(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8, ff_mult=2):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=True)
        attn_inner, ff_inner = heads * dim_head, dim * ff_mult
        self.fused_dims = (attn_inner, dim_head, dim_head, ff_inner * 2)
        self.heads, self.scale = heads, dim_head ** -0.5
        self.fused_proj = nn.Linear(dim, sum(self.fused_dims), bias=False)
        self.attn_out = nn.Linear(attn_inner, dim, bias=False)
        self.ff_out = nn.Linear(ff_inner, dim, bias=False)

    def forward(self, x, bias):
        b, n, _ = x.shape
        q, k, v, ff = self.fused_proj(self.norm(x)).split(self.fused_dims, dim=-1)
        q = q.reshape(b, n, self.heads, -1).transpose(1, 2) * self.scale
        sim = einsum("bhid,bjd->bhij", q, k) + bias
        causal = torch.ones((n, n), dtype=torch.bool).triu(1)
        sim = sim.masked_fill(causal, -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        out = einsum("bhij,bjd->bhid", attn, v)
        out = out.transpose(1, 2).reshape(b, n, -1)
        a, gate = ff.chunk(2, dim=-1)
        return x + self.attn_out(out) + self.ff_out(F.gelu(gate) * a)


class Model(nn.Module):
    def __init__(self, num_tokens=48, dim=32, depth=8, heads=4):
        super().__init__()
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.blocks = nn.ModuleList([ParallelBlock(dim, heads) for _ in range(depth)])
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens, bias=False))
        slopes = torch.tensor([2 ** (-8 * (i + 1) / heads) for i in range(heads)])
        self.register_buffer("slopes", slopes.view(heads, 1, 1))

    def forward(self, tokens):
        n = tokens.shape[-1]
        pos = torch.arange(n)
        bias = -(pos[:, None] - pos[None, :]).abs().float() * self.slopes
        x = self.token_emb(tokens)
        for block in self.blocks:
            x = block(x, bias)
        return self.to_logits(x)


def get_inputs():
    t = torch.randint(0, 48, (2, 10))
    t[0, 0] = 47
    return [t]
