import torch


def attend(q, k, v):
    scale = q.shape[-1] ** -0.5
    sim = torch.einsum("b i h d, b j h d -> b h i j", q, k) * scale
    attn = sim.softmax(dim=-1)
    return torch.einsum("b h i j, b j h d -> b i h d", attn, v)
