import pytest
import torch

from stats import weighted_cov


@pytest.mark.parametrize("n, d", [(10, 3), (50, 2), (7, 7)])
def test_symmetric(n, d):
    c = weighted_cov(torch.randn(n, d), torch.rand(n))
    assert c.shape == (d, d)
    assert torch.allclose(c, c.T, atol=1e-5)
