import torch


def lj_energy_forces(positions, cell, epsilon=1.0, sigma=1.0):
    """
    Lennard-Jones energy and forces in an orthorhombic periodic box.

    :param positions: cartesian coordinates of the atoms, tensor of shape (n_atoms, 3)
    :param cell: edge lengths of the box, tensor of shape (3,)
    :param epsilon: depth of the well
    :param sigma: distance at which the potential is zero
    :return: total energy (scalar) and forces of shape (n_atoms, 3)
    """
    rij = positions.unsqueeze(0) - positions.unsqueeze(1)
    rij = rij - cell * torch.round(rij / cell)
    r2 = rij.pow(2).sum(-1) + torch.eye(len(positions))
    off = 1.0 - torch.eye(len(positions))
    s6 = (sigma ** 2 / r2) ** 3 * off
    energy = 2.0 * epsilon * (s6 ** 2 - s6).sum()
    f = 24.0 * epsilon * (2 * s6 ** 2 - s6) / r2
    forces = -(f.unsqueeze(-1) * rij).sum(1)
    return energy, forces
