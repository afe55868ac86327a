import torch

from metrics import si_sdr


def test_scale_invariance():
    est = torch.randn(4, 16000)
    ref = torch.randn(4, 16000)
    assert torch.allclose(si_sdr(est, ref), si_sdr(3 * est, ref), atol=1e-3)
    assert si_sdr(est, ref).shape == (4,)
