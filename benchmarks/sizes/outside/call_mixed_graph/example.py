import torch

from graph import gcn_layer

if __name__ == "__main__":
    num_nodes = 6
    features = torch.randn(num_nodes, 10)
    adj = (torch.rand(num_nodes, num_nodes) > 0.5).float()
    w = torch.randn(10, 3)
    print(gcn_layer(features, adj, w))
