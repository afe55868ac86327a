import torch


def unsqueeze_like(p, x):
    return p.reshape(p.shape + (1,) * (x.ndim - p.ndim))


def film(x, gamma, beta):
    """Feature-wise linear modulation."""
    return (1 + unsqueeze_like(gamma, x)) * x + unsqueeze_like(beta, x)


if __name__ == "__main__":
    x = torch.randn(2, 64, 16, 24)
    gamma = torch.randn(2, 64)
    beta = torch.randn(2, 64)
    print(film(x, gamma, beta).shape)
