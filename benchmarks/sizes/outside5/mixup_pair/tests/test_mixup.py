import torch

from data.mixup import mixup


def test_mixup_keeps_probabilities():
    n, dim, n_classes = 16, 40, 10
    x1, x2 = torch.randn(n, dim), torch.randn(n, dim)
    y1 = torch.softmax(torch.randn(n, n_classes), dim=-1)
    y2 = torch.softmax(torch.randn(n, n_classes), dim=-1)
    lam = torch.rand(n, 1)
    x, y = mixup(x1, x2, y1, y2, lam)
    assert x.shape == (n, dim)
    assert torch.allclose(y.sum(-1), torch.ones(n))
