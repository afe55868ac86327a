import torch
import torch.nn.functional as F

from focal import focal_loss


def test_gamma_zero_is_cross_entropy():
    logits = torch.randn(8, 5)
    targets = torch.randint(0, 5, (8,))
    ours = focal_loss(logits, targets, torch.ones(5), gamma=0.0)
    assert torch.allclose(ours, F.cross_entropy(logits, targets))
