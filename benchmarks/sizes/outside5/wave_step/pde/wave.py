import torch


def step(u, u_prev, c, dt=0.1, dx=1.0):
    lap = (
        torch.roll(u, 1, 0) + torch.roll(u, -1, 0)
        + torch.roll(u, 1, 1) + torch.roll(u, -1, 1)
        - 4 * u
    ) / dx ** 2
    return 2 * u - u_prev + (c * dt) ** 2 * lap
