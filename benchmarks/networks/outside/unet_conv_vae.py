import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    """Convolutional variational autoencoder; the noise is an input."""

    def __init__(self, in_channels=3, latent_dim=16, hidden_dims=None):
        super().__init__()
        if hidden_dims is None:
            hidden_dims = [8, 12, 16, 24]
        last = hidden_dims[-1]
        self.last = last
        modules = []
        c = in_channels
        for h_dim in hidden_dims:
            modules.append(nn.Sequential(
                nn.Conv2d(c, h_dim, kernel_size=3, stride=2, padding=1),
                nn.BatchNorm2d(h_dim),
                nn.LeakyReLU()))
            c = h_dim
        self.encoder = nn.Sequential(*modules)
        self.fc_mu = nn.Linear(last * 4, latent_dim)
        self.fc_var = nn.Linear(last * 4, latent_dim)

        self.decoder_input = nn.Linear(latent_dim, last * 4)
        rev = hidden_dims[::-1]
        modules = []
        for i in range(len(rev) - 1):
            modules.append(nn.Sequential(
                nn.ConvTranspose2d(rev[i], rev[i + 1], kernel_size=3, stride=2, padding=1, output_padding=1),
                nn.BatchNorm2d(rev[i + 1]),
                nn.LeakyReLU()))
        self.decoder = nn.Sequential(*modules)
        self.final_layer = nn.Sequential(
            nn.ConvTranspose2d(rev[-1], rev[-1], kernel_size=3, stride=2, padding=1, output_padding=1),
            nn.BatchNorm2d(rev[-1]),
            nn.LeakyReLU(),
            nn.Conv2d(rev[-1], out_channels=3, kernel_size=3, padding=1),
            nn.Tanh())

    def encode(self, input):
        result = torch.flatten(self.encoder(input), start_dim=1)
        return self.fc_mu(result), self.fc_var(result)

    def decode(self, z):
        result = self.decoder_input(z)
        result = result.view(-1, self.last, 2, 2)
        return self.final_layer(self.decoder(result))

    def forward(self, input, eps):
        mu, log_var = self.encode(input)
        std = torch.exp(0.5 * log_var)
        z = eps * std + mu
        return self.decode(z), mu, log_var


def get_inputs():
    return [torch.randn(2, 3, 32, 32), torch.randn(2, 16)]
