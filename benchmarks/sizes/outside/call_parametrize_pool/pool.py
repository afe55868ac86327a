import torch


def global_pool(x):
    avg = x.flatten(2).mean(-1)
    top = x.flatten(2).amax(-1)
    return torch.cat([avg, top], dim=-1)


def test_global_pool():
    for b, c, h, w in [(1, 4, 5, 6), (3, 8, 7, 9)]:
        out = global_pool(torch.randn(b, c, h, w))
        assert out.shape == (b, 2 * c)
