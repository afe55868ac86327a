import torch

from text.classifier import BowClassifier


def test_padding_is_ignored():
    model = BowClassifier().eval()
    a = torch.tensor([[5, 9, 0, 0], [7, 3, 2, 1]])
    lengths = torch.tensor([2, 4])
    b = a.clone()
    b[0, 2:] = 11
    assert torch.allclose(model(a, lengths), model(b, lengths))
