import torch
import torch.nn as nn


class Model(nn.Module):
    """Character language model: embedding, residual stack of Elman RNNs, tied decoder."""

    def __init__(self, ntoken, ninp, nlayers, nonlinearity='tanh'):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.drop = nn.Dropout(0.2)
        self.rnns = nn.ModuleList(nn.RNN(ninp, ninp, nonlinearity=nonlinearity) for _ in range(nlayers))
        self.norms = nn.ModuleList(nn.LayerNorm(ninp) for _ in range(nlayers))
        self.decoder = nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight
        self.init_weights()

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, input, hidden):
        # input: (seq, batch), hidden: (layers, batch, width)
        x = self.drop(self.encoder(input))
        finals = []
        for i, (rnn, norm) in enumerate(zip(self.rnns, self.norms)):
            y, h = rnn(norm(x), hidden[i:i + 1])
            x = x + self.drop(y)
            finals.append(h)
        return torch.log_softmax(self.decoder(x), dim=-1), torch.cat(finals, 0)


def get_inputs():
    tokens = torch.randint(0, 48, (8, 2))
    tokens[0, 0] = 47
    return [tokens, torch.zeros(6, 2, 24)]


def get_init_inputs():
    return [48, 24, 6]
