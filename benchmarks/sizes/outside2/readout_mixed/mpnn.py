import torch


def attention_readout(h, w_gate, w_out):
    gate = torch.softmax(h @ w_gate, dim=-2)
    pooled = (gate * h).sum(dim=-2)
    return torch.tanh(pooled @ w_out)


if __name__ == "__main__":
    torch.manual_seed(0)
    graphs, nodes, dim, classes = 5, 9, 12, 4
    h = torch.randn(graphs, nodes, dim)
    out = attention_readout(h, torch.randn(dim, 1), torch.randn(dim, classes))
    print(out.shape)
