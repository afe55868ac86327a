import torch
import torch.nn as nn


class Model(nn.Module):
    """Stacked bidirectional LSTM over word embeddings with attention pooling."""

    def __init__(self, vocab_size=50, embed_dim=16, hidden_dim=16, num_layers=4, num_classes=5, dropout=0.3):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, num_layers=num_layers, bidirectional=True,
                            batch_first=True, dropout=dropout)
        self.norm = nn.LayerNorm(2 * hidden_dim)
        self.attn = nn.Sequential(nn.Linear(2 * hidden_dim, hidden_dim), nn.Tanh(), nn.Linear(hidden_dim, 1, bias=False))
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * hidden_dim, hidden_dim), nn.ReLU(),
                                        nn.Linear(hidden_dim, num_classes))

    def forward(self, tokens):
        emb = self.embedding(tokens)
        out, _ = self.lstm(emb)
        out = self.norm(out)
        weights = torch.softmax(self.attn(out).squeeze(-1), dim=-1)
        context = torch.bmm(weights.unsqueeze(1), out).squeeze(1)
        return self.classifier(context)


def get_inputs():
    tokens = torch.randint(0, 50, (2, 10))
    tokens[0, 0] = 49
    return [tokens]
