import torch
from torch import nn
import torch.nn.functional as F


class ResBlock(nn.Module):
    def __init__(self, d, d_hidden, p1=0.1, p2=0.0):
        super().__init__()
        self.norm = nn.BatchNorm1d(d)
        self.linear0 = nn.Linear(d, d_hidden)
        self.linear1 = nn.Linear(d_hidden, d)
        self.p1, self.p2 = p1, p2

    def forward(self, x):
        z = self.norm(x)
        z = F.relu(self.linear0(z))
        z = F.dropout(z, self.p1, self.training)
        z = self.linear1(z)
        z = F.dropout(z, self.p2, self.training)
        return x + z


class Model(nn.Module):
    """ResNet for tabular data: numbers plus one embedding per categorical column."""

    def __init__(self, d_numerical, categories, d_embedding, d, d_hidden, n_layers, d_out):
        super().__init__()
        d_in = d_numerical + len(categories) * d_embedding
        offsets = torch.tensor([0] + categories[:-1]).cumsum(0)
        self.register_buffer('category_offsets', offsets)
        self.category_embeddings = nn.Embedding(sum(categories), d_embedding)
        self.first_layer = nn.Linear(d_in, d)
        self.layers = nn.ModuleList([ResBlock(d, d_hidden) for _ in range(n_layers)])
        self.last_normalization = nn.BatchNorm1d(d)
        self.head = nn.Linear(d, d_out)

    def forward(self, x_num, x_cat):
        x = [x_num, self.category_embeddings(x_cat + self.category_offsets[None]).view(x_cat.size(0), -1)]
        x = torch.cat(x, dim=-1)
        x = self.first_layer(x)
        for layer in self.layers:
            x = layer(x)
        x = F.relu(self.last_normalization(x))
        return self.head(x).squeeze(-1)


def get_inputs():
    cat = torch.randint(0, 5, (4, 3))
    cat[0] = 4
    return [torch.randn(4, 7), cat]


def get_init_inputs():
    return [7, [5, 5, 5], 4, 32, 48, 8, 1]
