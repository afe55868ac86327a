import torch


def lj_energy(positions, box, epsilon=1.0, sigma=1.0, cutoff=2.5):
    """Lennard-Jones energy with the minimum image convention.

    positions - Nx3 tensor with the coordinates of the particles
    box - vector with the 3 edge lengths of the periodic box
    epsilon, sigma, cutoff - in reduced units
    """
    delta = positions[:, None] - positions[None, :]
    delta = delta - box * torch.round(delta / box)
    n = positions.shape[0]
    r2 = delta.square().sum(-1) + torch.eye(n) * cutoff ** 2
    s6 = (sigma ** 2 / r2) ** 3
    pair = 4 * epsilon * (s6 ** 2 - s6)
    return 0.5 * torch.where(r2 < cutoff ** 2, pair, torch.zeros_like(pair)).sum()
