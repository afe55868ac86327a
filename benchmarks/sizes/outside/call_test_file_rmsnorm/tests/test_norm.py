import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import torch

from model.norm import rms_norm


def test_rms_norm_unit_scale():
    x = torch.randn(2, 7, 16)
    out = rms_norm(x, torch.ones(16))
    assert out.shape == x.shape
    assert torch.allclose(out.pow(2).mean(-1), torch.ones(2, 7), atol=1e-3)
