"""Small Deep-Speech style acoustic model."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class CNNLayerNorm(nn.Module):
    def __init__(self, n_feats):
        super().__init__()
        self.layer_norm = nn.LayerNorm(n_feats)

    def forward(self, x):
        # x (batch, channel, feature, time)
        x = x.transpose(2, 3).contiguous()
        x = self.layer_norm(x)
        return x.transpose(2, 3).contiguous()


class ResidualCNN(nn.Module):
    def __init__(self, in_channels, out_channels, kernel, stride, dropout, n_feats):
        super().__init__()
        self.cnn1 = nn.Conv2d(in_channels, out_channels, kernel, stride, padding=kernel // 2)
        self.cnn2 = nn.Conv2d(out_channels, out_channels, kernel, stride, padding=kernel // 2)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.layer_norm1 = CNNLayerNorm(n_feats)
        self.layer_norm2 = CNNLayerNorm(n_feats)

    def forward(self, x):
        residual = x
        x = self.dropout1(F.gelu(self.layer_norm1(x)))
        x = self.cnn1(x)
        x = self.dropout2(F.gelu(self.layer_norm2(x)))
        x = self.cnn2(x)
        x += residual
        return x


class BidirectionalGRU(nn.Module):
    def __init__(self, rnn_dim, hidden_size, dropout, batch_first):
        super().__init__()
        self.BiGRU = nn.GRU(rnn_dim, hidden_size, num_layers=1, batch_first=batch_first, bidirectional=True)
        self.layer_norm = nn.LayerNorm(rnn_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = F.gelu(self.layer_norm(x))
        x, _ = self.BiGRU(x)
        return self.dropout(x)


class Model(nn.Module):
    def __init__(self, n_cnn_layers=2, n_rnn_layers=3, rnn_dim=16, n_class=12, n_feats=16, stride=2, dropout=0.1):
        super().__init__()
        n_feats = n_feats // 2
        self.cnn = nn.Conv2d(1, 8, 3, stride=stride, padding=3 // 2)
        self.rescnn_layers = nn.Sequential(*[ResidualCNN(8, 8, 3, 1, dropout, n_feats) for _ in range(n_cnn_layers)])
        self.fully_connected = nn.Linear(n_feats * 8, rnn_dim)
        self.birnn_layers = nn.Sequential(*[
            BidirectionalGRU(rnn_dim if i == 0 else rnn_dim * 2, rnn_dim, dropout, batch_first=True)
            for i in range(n_rnn_layers)])
        self.classifier = nn.Sequential(nn.Linear(rnn_dim * 2, rnn_dim), nn.GELU(), nn.Dropout(dropout),
                                        nn.Linear(rnn_dim, n_class))

    def forward(self, x):
        x = self.cnn(x)
        x = self.rescnn_layers(x)
        sizes = x.size()
        x = x.view(sizes[0], sizes[1] * sizes[2], sizes[3])  # (batch, feature, time)
        x = x.transpose(1, 2)
        x = self.fully_connected(x)
        x = self.birnn_layers(x)
        return F.log_softmax(self.classifier(x), dim=-1)


def get_inputs():
    return [torch.randn(2, 1, 16, 20)]
