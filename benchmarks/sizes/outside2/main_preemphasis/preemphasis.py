import torch


def preemphasis(wave, coef=0.97):
    head = wave[..., :1]
    tail = wave[..., 1:] - coef * wave[..., :-1]
    return torch.cat([head, tail], dim=-1)


if __name__ == "__main__":
    x = torch.randn(4, 16000)
    y = preemphasis(x)
    print(y.shape, y.abs().mean())
