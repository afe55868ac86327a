import torch
import torch.nn as nn


class Model(nn.Module):
    """Time series classifier on top of nn.TransformerEncoderLayer (pre-norm)."""

    def __init__(self, in_features=6, d_model=32, nhead=4, num_layers=4, dim_feedforward=64, n_classes=3, max_len=12):
        super().__init__()
        self.proj = nn.Linear(in_features, d_model)
        self.pos = nn.Parameter(torch.zeros(1, max_len, d_model).normal_(std=0.02))
        layer = nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward, dropout=0.1, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers, norm=nn.LayerNorm(d_model), enable_nested_tensor=False)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, x):
        h = self.proj(x) + self.pos[:, : x.size(1)]
        h = self.encoder(h)
        return self.head(h.mean(dim=1))


def get_inputs():
    return [torch.randn(2, 12, 6)]
