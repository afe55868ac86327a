import pytest
import torch

from masking import masked_log_softmax


@pytest.mark.parametrize("batch,n_actions", [(1, 4), (6, 9)])
def test_illegal_actions_have_no_probability(batch, n_actions):
    scores = torch.randn(batch, n_actions)
    mask = torch.ones(batch, n_actions, dtype=torch.bool)
    mask[:, 0] = False
    logp = masked_log_softmax(scores, mask)
    assert logp.shape == (batch, n_actions)
    assert (logp[:, 0].exp() < 1e-3).all()
