import torch
import torch.nn.functional as F

from focal import focal_loss


def test_gamma_zero_is_cross_entropy():
    logits = torch.randn(8, 5)
    targets = torch.randint(0, 5, (8,))
    torch.testing.assert_close(focal_loss(logits, targets, gamma=0.0), F.cross_entropy(logits, targets))


def test_no_reduction():
    logits = torch.randn(8, 5)
    targets = torch.randint(0, 5, (8,))
    assert focal_loss(logits, targets, reduction="none").shape == (8,)
