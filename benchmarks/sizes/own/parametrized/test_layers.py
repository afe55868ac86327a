import pytest
import torch

import layers


@pytest.mark.parametrize("m, k", [(3, 5), (7, 2)])
def test_scaled(m, k):
    x, s = torch.randn(m, k), torch.rand(k)
    assert layers.scaled(x, s).shape == (m, k)
