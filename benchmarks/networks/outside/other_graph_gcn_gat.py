import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConvolution(nn.Module):
    """Simple GCN layer, similar to https://arxiv.org/abs/1609.02907"""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None
        nn.init.xavier_uniform_(self.weight)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.mm(adj, support)
        return output + self.bias if self.bias is not None else output


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, alpha=0.2, concat=True):
        super().__init__()
        self.out_features, self.concat = out_features, concat
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        Wh1 = torch.matmul(Wh, self.a[:self.out_features, :])
        Wh2 = torch.matmul(Wh, self.a[self.out_features:, :])
        e = self.leakyrelu(Wh1 + Wh2.T)
        zero_vec = -9e15 * torch.ones_like(e)
        attention = torch.where(adj > 0, e, zero_vec)
        attention = F.softmax(attention, dim=1)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


class Model(nn.Module):
    def __init__(self, nfeat=12, nhid=8, nclass=4, nheads=3, ngcn=6):
        super().__init__()
        self.attentions = nn.ModuleList([GraphAttentionLayer(nfeat, nhid) for _ in range(nheads)])
        self.gcns = nn.ModuleList([GraphConvolution(nhid * nheads, nhid * nheads) for _ in range(ngcn)])
        self.norms = nn.ModuleList([nn.LayerNorm(nhid * nheads) for _ in range(ngcn)])
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, concat=False)

    def forward(self, x, adj):
        deg = adj.sum(1).clamp(min=1.0).pow(-0.5)
        norm_adj = deg[:, None] * adj * deg[None, :]
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        for gcn, norm in zip(self.gcns, self.norms):
            x = x + F.relu(gcn(norm(x), norm_adj))
        return F.log_softmax(self.out_att(x, adj), dim=1)


def get_inputs():
    a = (torch.rand(10, 10) > 0.6).float()
    adj = ((a + a.T + torch.eye(10)) > 0).float()
    return [torch.randn(10, 12), adj]
