import torch


def ema_weights(avg, new, beta):
    return avg * beta + new * (1.0 - beta)


if __name__ == "__main__":
    avg = torch.zeros(10, 6)
    for step in range(1, 4):
        avg = ema_weights(avg, torch.randn(10, 6), torch.tensor(0.9))
    print(avg.mean())
