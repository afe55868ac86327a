import torch
from torch import nn


class DINAttention(nn.Module):
    """Activation unit of the Deep Interest Network."""

    def __init__(self, embed_dim=16, hidden=36):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(4 * embed_dim, hidden), nn.PReLU(), nn.Linear(hidden, 1))

    def forward(self, target, hist, mask):
        # target item: B, E      clicked items: B, L, E
        # mask: B, L (True where there is a click)
        query = target.unsqueeze(1).expand_as(hist)
        feats = torch.cat([query, hist, query - hist, query * hist], dim=-1)    # B, L, 4E
        scores = self.mlp(feats).squeeze(-1).masked_fill(~mask, 0.0)            # B, L
        return torch.bmm(scores.unsqueeze(1), hist).squeeze(1)                  # B, E
