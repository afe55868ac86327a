import math

import torch

from lm import lm_loss


def test_uniform_at_zero():
    vocab = 11
    hidden = torch.zeros(2, 6, 16)
    wte = torch.randn(vocab, 16)
    ids = torch.randint(vocab, (2, 6))
    assert abs(lm_loss(hidden, wte, ids).item() - math.log(vocab)) < 1e-5
