import torch
from torch import nn


class ChannelLayerNorm(nn.Module):
    r"""Layer normalisation over the channels of a sequence.

    Args:
        channels: number of channels :math:`C`. Default: 128
        eps: added to the variance

    Shape:
        - Input: :math:`(N, C, L)`
        - Output: :math:`(N, C, L)`
    """

    def __init__(self, channels: int = 128, eps: float = 1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels, 1))
        self.beta = nn.Parameter(torch.zeros(channels, 1))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-2, keepdim=True)
        var = x.var(-2, keepdim=True, unbiased=False)
        return self.gamma * (x - mean) * torch.rsqrt(var + self.eps) + self.beta
