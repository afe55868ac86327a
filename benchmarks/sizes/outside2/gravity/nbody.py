import torch

G = 6.674e-11


def accelerations(positions, masses, softening=1e-3):
    """Gravitational acceleration on every body.

    ``positions`` is an N x 3 tensor with the coordinates of the bodies in metres and ``masses``
    is a vector with their N masses in kilograms. The result is N x 3 again.
    """
    delta = positions[None] - positions[:, None]
    dist2 = delta.pow(2).sum(-1) + softening ** 2
    inv = dist2.pow(-1.5)
    return G * (delta * (inv * masses)[..., None]).sum(1)
