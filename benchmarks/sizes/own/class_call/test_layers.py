import torch
from layers import Scale

def test_scale():
    layer = Scale()
    x = torch.randn(2, 4, 16)
    assert layer(x).shape == x.shape
