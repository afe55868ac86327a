import torch

G = 6.674e-11


def accelerations(pos, mass, softening=0.1):
    r = pos[None, :, :] - pos[:, None, :]
    dist2 = (r ** 2).sum(-1) + softening ** 2
    inv_r3 = dist2.pow(-1.5)
    inv_r3 = inv_r3 * (1 - torch.eye(pos.shape[0]))
    return G * torch.einsum("ijk,ij,j->ik", r, inv_r3, mass)


def leapfrog(pos, vel, mass, dt):
    vel = vel + 0.5 * dt * accelerations(pos, mass)
    pos = pos + dt * vel
    vel = vel + 0.5 * dt * accelerations(pos, mass)
    return pos, vel
