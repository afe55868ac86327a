import pytest
import torch

from vae import kl_divergence, reparameterize


def test_standard_normal_has_zero_kl():
    assert kl_divergence(torch.zeros(16, 20), torch.zeros(16, 20)) == 0


@pytest.mark.parametrize("latent", [2, 20])
def test_positive(latent):
    mu, logvar = torch.randn(16, latent), torch.randn(16, latent)
    assert kl_divergence(mu, logvar) > 0
    assert reparameterize(mu, logvar).shape == mu.shape
