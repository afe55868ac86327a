import torch


def rbf_basis(x, centers, gamma=10.0):
    d = x.unsqueeze(-1) - centers
    return torch.exp(-gamma * d ** 2)


if __name__ == "__main__":
    distances = torch.rand(100) * 5.0
    centers = torch.linspace(0, 5.0, 20)
    feats = rbf_basis(distances, centers)
    assert feats.shape == (100, 20)
