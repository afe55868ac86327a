import torch

from softmax import masked_softmax


def test_causal():
    T = 5
    mask = torch.tril(torch.ones(T, T, dtype=torch.bool))
    scores = torch.randn(2, 4, T, T)
    p = masked_softmax(scores, mask)
    assert torch.all(p.masked_select(~mask) == 0)
    assert torch.allclose(p.sum(-1), torch.ones(2, 4, T))
