import torch


def reparameterized_kl(mu, logvar, noise):
    """Draw latent samples and return them with the KL term to N(0, I).

    mu, logvar are both (batch_size, latent_dim); noise is (num_samples, batch_size, latent_dim).
    """
    z = mu + noise * torch.exp(0.5 * logvar)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=-1)
    return z, kl.mean()
