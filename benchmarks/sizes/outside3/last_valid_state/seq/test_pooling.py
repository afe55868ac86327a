import torch

from pooling import last_valid


def test_last_valid():
    out = torch.randn(4, 10, 32)
    lengths = torch.tensor([10, 7, 3, 1])
    got = last_valid(out, lengths)
    assert got.shape == (4, 32)
    assert torch.equal(got[1], out[1, 6])
