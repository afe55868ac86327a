"""Kernels of real layers, as users write them."""
# mypy: ignore-errors

import torch
import torch.nn.functional as F


def gemm(a, b):  # stepsmith: a[M, K], b[K, N]
    return a @ b


def swiglu(x, wg, wu, wd):  # stepsmith: x[B, D], wg[D, F], wu[D, F], wd[F, D]
    gate = F.silu(x @ wg)
    return (gate * (x @ wu)) @ wd


def softmax(x):  # stepsmith: x[M, N]
    return torch.softmax(x, -1)


def layernorm(x, w, b):  # stepsmith: x[M, N], w[N], b[N]
    return F.layer_norm(x, (x.shape[-1],), w, b)


def rms_linear(x, g, w):  # stepsmith: x[M, K], g[K], w[K, N]
    scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
    return (x * scale * g) @ w


def attention(q, k, v):  # stepsmith: q[M, D], k[L, D], v[L, D]
    scores = q @ k.T / q.shape[-1] ** 0.5
    return torch.softmax(scores, -1) @ v


def bgemm(a, b):  # stepsmith: a[B, M, K], b[B, K, N]
    return a @ b


def rope(x, cos, sin):  # stepsmith: x[S, H, 2*D], cos[S, 2*D], sin[S, 2*D]
    a, b = x.chunk(2, -1)
    return x * cos[:, None] + torch.cat((-b, a), -1) * sin[:, None]
