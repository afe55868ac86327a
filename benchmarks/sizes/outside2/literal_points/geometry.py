import torch


def chamfer(a, b):
    d = torch.cdist(a, b)
    return d.amin(-1).mean(-1) + d.amin(-2).mean(-1)


def _example():
    square = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    triangle = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    return chamfer(square, triangle)


if __name__ == "__main__":
    print(_example())
