# mypy: ignore-errors
"""Attention in its forms."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:  # stepsmith: q[s, d], k[t, d], v[t, e]
    scores = q @ k.T / math.sqrt(q.shape[-1])
    return torch.softmax(scores, dim=-1) @ v


def attention_of_heads(
    q: Tensor, k: Tensor, v: Tensor
) -> Tensor:  # stepsmith: q[b, h, s, d], k[b, h, t, d], v[b, h, t, d]
    return F.scaled_dot_product_attention(q, k, v)


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:  # stepsmith: q[s, d], k[s, d], v[s, d]
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def grouped_query_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    # stepsmith: q[b, 4, s, d], k[b, 2, t, d], v[b, 2, t, d]
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def attention_with_bias(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    # stepsmith: q[s, d], k[t, d], v[t, d], bias[s, t]
    return torch.softmax(q @ k.T + bias, dim=-1) @ v


def linear_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:  # stepsmith: q[s, d], k[t, d], v[t, e]
    return F.elu(q) @ (F.elu(k).T @ v)


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:  # stepsmith: x[s, d], cos[s, d], sin[s, d]
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin
