import torch


def huber(pred, target, delta=1.0):
    err = (pred - target).abs()
    quad = err.clamp(max=delta)
    return (0.5 * quad ** 2 + delta * (err - quad)).mean()


if __name__ == "__main__":
    p = torch.randn(32)
    t = torch.randn(32)
    print(float(huber(p, t)))
