import torch


def step(u, kappa, dt=0.1, dx=1.0):
    ny, nx = u.shape
    lap = torch.zeros(ny, nx)
    lap[1:-1, 1:-1] = (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    ) / dx ** 2
    inner = kappa[1:-1, 1:-1] * lap[1:-1, 1:-1]
    out = u.clone()
    out[1:-1, 1:-1] += dt * inner
    return out
