import torch

from losses import sigmoid_focal_loss


def test_is_scalar_and_positive():
    logits = torch.randn(8, 5)
    targets = torch.randint(0, 2, (8, 5)).float()
    loss = sigmoid_focal_loss(logits, targets)
    assert loss.ndim == 0
    assert loss > 0


def test_gamma_zero_is_half_bce():
    logits, targets = torch.randn(4, 3), torch.ones(4, 3)
    a = sigmoid_focal_loss(logits, targets, alpha=0.5, gamma=0.0)
    b = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets)
    assert torch.allclose(a, 0.5 * b)
