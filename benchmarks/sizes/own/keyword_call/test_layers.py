import torch
from layers import blend

def test_blend():
    out = blend(a=torch.zeros(7), b=torch.ones(7), weight=0.25)
    assert out.shape == (7,)
