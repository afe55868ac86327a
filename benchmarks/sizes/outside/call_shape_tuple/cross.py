import torch


def cross_attention(x, context, wq, wk, wv):
    q, k, v = x @ wq, context @ wk, context @ wv
    attn = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).softmax(-1)
    return attn @ v


def test_cross_attention():
    torch.manual_seed(1)
    x = torch.randn((2, 5, 16))
    context = torch.randn((2, 9, 24))
    wq, wk, wv = torch.randn(16, 32), torch.randn(24, 32), torch.randn(24, 32)
    out = cross_attention(x, context, wq, wk, wv)
    assert out.shape == (2, 5, 32)
