import torch
import torch.nn.functional as F


def residual_mlp(x, w1, w2):
    return x + F.gelu(x @ w1) @ w2


def main():
    torch.manual_seed(0)
    batch, seq, dim, hidden = 2, 6, 16, 48
    x = torch.randn(batch, seq, dim)
    w1 = torch.randn(dim, hidden) * 0.02
    w2 = torch.randn(hidden, dim) * 0.02
    y = residual_mlp(x, w1, w2)
    print(y.shape)


if __name__ == "__main__":
    main()
