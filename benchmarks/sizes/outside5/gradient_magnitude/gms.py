import torch


def gradient_magnitude(img, eps=1e-6):
    """Magnitude of the finite differences, same size as the input."""
    dx = img - torch.roll(img, 1, dims=-1)
    dy = img - torch.roll(img, 1, dims=-2)
    return torch.sqrt(dx ** 2 + dy ** 2 + eps)


def gms(pred, target, c=0.0026):
    g1, g2 = gradient_magnitude(pred), gradient_magnitude(target)
    return ((2 * g1 * g2 + c) / (g1 ** 2 + g2 ** 2 + c)).mean()


if __name__ == "__main__":
    pred = torch.rand(4, 3, 96, 128)
    print(gradient_magnitude(pred).shape)
