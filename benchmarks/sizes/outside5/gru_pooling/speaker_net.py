import torch
from torch import nn

from pooling import stats_pool


class SpeakerNet(nn.Module):
    def __init__(self, n_mels=40, hidden=64, emb_dim=128):
        super().__init__()
        self.rnn = nn.GRU(n_mels, hidden, batch_first=True)
        self.proj = nn.Linear(2 * hidden, emb_dim)

    def forward(self, mels):
        h, _ = self.rnn(mels)
        return nn.functional.normalize(self.proj(stats_pool(h)), dim=-1)


if __name__ == "__main__":
    net = SpeakerNet()
    print(net(torch.randn(8, 120, 40)).shape)
