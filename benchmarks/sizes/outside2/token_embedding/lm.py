import torch
import torch.nn as nn


class TinyLM(nn.Module):
    def __init__(self, vocab=256, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        h, _ = self.rnn(self.emb(tokens))
        return self.head(h)


if __name__ == "__main__":
    net = TinyLM()
    ids = torch.randint(0, 256, (4, 12))
    logits = net(ids)
    print(logits.shape)  # torch.Size([4, 12, 256])
