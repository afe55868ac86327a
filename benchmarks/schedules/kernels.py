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


def causal(q, k, v):  # stepsmith: q[M, D], k[M, D], v[M, D]
    scores = q @ k.T / q.shape[-1] ** 0.5
    future = torch.tril(torch.ones(q.shape[0], q.shape[0])) == 0
    return torch.softmax(scores.masked_fill(future, float("-inf")), -1) @ v


def cross_entropy(logits, target):  # stepsmith: logits[M, V], target[M] int64
    return F.cross_entropy(logits, target)


def recurrence(x, gate):  # stepsmith: x[T, D], gate[T, D]
    state = torch.zeros_like(x[0])
    states = torch.empty_like(x)
    for t in range(x.shape[0]):
        keep = torch.sigmoid(gate[t])
        state = keep * state + (1 - keep) * x[t]
        states[t] = state
    return states


def convolution(x, w):  # stepsmith: x[N, C, H, W], w[D, C, 3, 3]
    return F.conv2d(x, w, padding=1)


def decode(q, k, v, lengths):  # stepsmith: q[B, 8, D], k[B, L, D], v[B, L, D], lengths[B] int64
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    behind = torch.arange(k.shape[1])[None, None] >= lengths[:, None, None]
    return torch.softmax(scores.masked_fill(behind, float("-inf")), -1) @ v


def top2(x, router, gate, up, down):  # stepsmith: x[T, D], router[E, D], gate[E, F, D], up[E, F, D], down[E, F, D]
    return _mixture(x, router, gate, up, down, 2)


def top8(x, router, gate, up, down):  # stepsmith: x[T, D], router[E, D], gate[E, F, D], up[E, F, D], down[E, F, D]
    return _mixture(x, router, gate, up, down, 8)


def _mixture(x, router, gate, up, down, chosen):
    weight, index = torch.topk(torch.softmax(x @ router.T, -1), chosen)
    route = torch.zeros(x.shape[0], router.shape[0]).scatter(1, index, weight / weight.sum(-1, keepdim=True))
    hidden = F.silu(torch.einsum("td,efd->etf", x, gate)) * torch.einsum("td,efd->etf", x, up)
    return torch.einsum("te,etd->td", route, torch.einsum("etf,efd->etd", hidden, down))
