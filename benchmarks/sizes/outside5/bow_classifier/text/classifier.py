import torch
from torch import nn


class BowClassifier(nn.Module):
    def __init__(self, vocab_size=2000, dim=50, n_classes=4):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.out = nn.Linear(dim, n_classes)

    def forward(self, tokens, lengths):
        # tokens: (batch, max_len)
        max_len = tokens.size(1)
        mask = torch.arange(max_len)[None, :] < lengths[:, None]
        e = self.emb(tokens) * mask.unsqueeze(-1)
        mean = e.sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)
        return self.out(mean)
