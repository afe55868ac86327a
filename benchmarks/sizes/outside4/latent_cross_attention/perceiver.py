import torch
from torch import nn


class LatentCrossAttention(nn.Module):
    """Latents read from a longer sequence.

    Args:
        dim: width of the latents
        context_dim: width of the sequence
    """

    def __init__(self, dim=64, context_dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(context_dim, 2 * dim, bias=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, latents, context, mask):
        # mask: (B, N), True for the elements that exist
        b, k, _ = latents.shape
        h = self.heads
        q = self.to_q(latents).view(b, k, h, -1).transpose(1, 2)
        key, val = self.to_kv(context).chunk(2, dim=-1)
        key = key.view(b, context.shape[1], h, -1).transpose(1, 2)
        val = val.view(b, context.shape[1], h, -1).transpose(1, 2)
        scores = q @ key.transpose(-1, -2) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~mask[:, None, None, :], -1e4)
        y = scores.softmax(-1) @ val
        return self.out(y.transpose(1, 2).reshape(b, k, -1))


if __name__ == "__main__":
    layer = LatentCrossAttention()
    y = layer(torch.randn(2, 8, 64), torch.randn(2, 100, 32), torch.ones(2, 100, dtype=torch.bool))
    print(y.shape)
