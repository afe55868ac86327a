import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, input_dim, emb_dim, hid_dim, n_layers):
        super().__init__()
        self.embedding = nn.Embedding(input_dim, emb_dim)
        self.rnn = nn.GRU(emb_dim, hid_dim, n_layers)

    def forward(self, src):
        # src = [src len, batch size]
        embedded = self.embedding(src)
        outputs, hidden = self.rnn(embedded)
        return outputs, hidden


class Attention(nn.Module):
    def __init__(self, hid_dim):
        super().__init__()
        self.attn = nn.Linear(hid_dim * 2, hid_dim)
        self.v = nn.Linear(hid_dim, 1, bias=False)

    def forward(self, hidden, encoder_outputs):
        src_len = encoder_outputs.shape[0]
        hidden = hidden.unsqueeze(1).repeat(1, src_len, 1)
        encoder_outputs = encoder_outputs.permute(1, 0, 2)
        energy = torch.tanh(self.attn(torch.cat((hidden, encoder_outputs), dim=2)))
        return F.softmax(self.v(energy).squeeze(2), dim=1)


class Decoder(nn.Module):
    def __init__(self, output_dim, emb_dim, hid_dim, n_layers):
        super().__init__()
        self.embedding = nn.Embedding(output_dim, emb_dim)
        self.attention = Attention(hid_dim)
        self.cells = nn.ModuleList([nn.GRUCell(emb_dim + hid_dim if i == 0 else hid_dim, hid_dim) for i in range(n_layers)])
        self.fc_out = nn.Linear(hid_dim * 2 + emb_dim, output_dim)

    def forward(self, tok, hidden, encoder_outputs):
        embedded = self.embedding(tok)
        a = self.attention(hidden[-1], encoder_outputs).unsqueeze(1)
        weighted = torch.bmm(a, encoder_outputs.permute(1, 0, 2)).squeeze(1)
        x = torch.cat((embedded, weighted), dim=1)
        new_hidden = []
        for cell, h in zip(self.cells, hidden):
            x = cell(x, h)
            new_hidden.append(x)
        pred = self.fc_out(torch.cat((x, weighted, embedded), dim=1))
        return pred, new_hidden


class Model(nn.Module):
    def __init__(self, src_vocab=40, trg_vocab=30, emb=16, hid=24, n_layers=3):
        super().__init__()
        self.encoder = Encoder(src_vocab, emb, hid, n_layers)
        self.decoder = Decoder(trg_vocab, emb, hid, n_layers)

    def forward(self, src, trg):
        outputs = []
        encoder_outputs, h = self.encoder(src)
        hidden = [h[i] for i in range(h.shape[0])]
        for t in range(trg.shape[0]):
            out, hidden = self.decoder(trg[t], hidden, encoder_outputs)
            outputs.append(out)
        return torch.stack(outputs, dim=0)


def get_inputs():
    src = torch.randint(0, 40, (7, 2))
    trg = torch.randint(0, 30, (6, 2))
    src[0, 0], trg[0, 0] = 39, 29
    return [src, trg]
