import pytest
import torch

from ot.sinkhorn import sinkhorn


@pytest.mark.parametrize("batch,n,m", [(1, 5, 5), (3, 6, 9)])
def test_marginals(batch, n, m):
    cost = torch.rand(batch, n, m)
    a = torch.full((batch, n), 1.0 / n)
    b = torch.full((batch, m), 1.0 / m)
    plan = sinkhorn(cost, a, b, n_iter=200)
    torch.testing.assert_close(plan.sum(-1), a, atol=1e-3, rtol=0)
    torch.testing.assert_close(plan.sum(-2), b, atol=1e-3, rtol=0)
