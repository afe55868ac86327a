import torch

from augment import mixup


def test_mixup_keeps_shape():
    images = torch.rand(8, 3, 32, 40)
    targets = torch.softmax(torch.randn(8, 10), dim=-1)
    x, y = mixup(images, targets)
    assert x.shape == images.shape
    assert torch.allclose(y.sum(-1), torch.ones(8))
